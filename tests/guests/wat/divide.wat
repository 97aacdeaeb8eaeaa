;; Divides by zero.
(func $run (drop (i32.div_u (i32.const 1) (i32.load (i32.const 0)))))
