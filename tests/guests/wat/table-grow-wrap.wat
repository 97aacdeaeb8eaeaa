;; Grows a table by so much that its size would wrap around (GHSA-p8xm), and breaks when it may not.
(table $spare 1 funcref)
(func $run
  (if (i32.lt_s (table.grow $spare (ref.null func) (i32.const -1)) (i32.const 0)) (then unreachable)))
