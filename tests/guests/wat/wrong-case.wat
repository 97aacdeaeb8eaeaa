;; Answers with a case of a variant that does not exist.
(func $run (i32.store8 (i32.const 1024) (i32.const 7)))
