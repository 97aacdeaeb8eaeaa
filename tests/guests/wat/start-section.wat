;; Computes for ever in the module's start function.
(func $run)
(func $start (loop $again (br $again)))
(start $start)
