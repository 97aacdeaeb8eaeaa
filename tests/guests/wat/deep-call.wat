;; Calls itself through a table for ever.
(table $functions 1 funcref)
(elem (table $functions) (i32.const 0) func $run)
(func $run (call_indirect $functions (i32.const 0)) (call_indirect $functions (i32.const 0)))
