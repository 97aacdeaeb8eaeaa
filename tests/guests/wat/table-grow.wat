;; Grows a table by a million elements, and breaks when it may not.
(table $spare 1 funcref)
(func $run
  (if (i32.lt_s (table.grow $spare (ref.null func) (i32.const 1000000)) (i32.const 0)) (then unreachable)))
