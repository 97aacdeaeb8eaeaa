;; Calls itself for ever, with parameters and results that all have to be kept on the stack.
(func $run (call $deeper (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4)) (drop) (drop) (drop) (drop))
(func $deeper (param i64 i64 i64 i64) (result i64 i64 i64 i64)
  (call $deeper
    (i64.add (local.get 0) (i64.const 1)) (i64.mul (local.get 1) (local.get 0))
    (i64.xor (local.get 2) (local.get 1)) (i64.sub (local.get 3) (local.get 2)))
  (call $deeper))
