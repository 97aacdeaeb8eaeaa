;; Grows a table within the default limit of 100,000 elements, and breaks when it may not.
(table $spare 1 funcref)
(func $run
  (if (i32.lt_s (table.grow $spare (ref.null func) (i32.const 90000)) (i32.const 0)) (then unreachable)))
