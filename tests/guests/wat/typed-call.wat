;; Computes for ever in a function that it calls by a typed reference, whose fuel was once not counted (GHSA-m63x).
(type $endless (func))
(elem declare func $spin)
(func $spin (loop $again (br $again)))
(func $run (call_ref $endless (ref.func $spin)))
