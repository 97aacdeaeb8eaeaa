;; Fills a table of 90,000 elements again and again: few instructions, much work.
(table $wide 90000 funcref)
(func $run (loop $again (table.fill $wide (i32.const 0) (ref.null func) (i32.const 90000)) (br $again)))
