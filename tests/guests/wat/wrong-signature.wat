;; Calls a function through a table as what it is not.
(type $other (func (param i64) (result f64)))
(table $functions 1 funcref)
(elem (table $functions) (i32.const 0) func $run)
(func $run (drop (call_indirect $functions (type $other) (i64.const 1) (i32.const 0))))
