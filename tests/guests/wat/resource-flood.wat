;; Makes a million handles to a resource of its own and drops none.
(import "[export]hostile:mine/things" "[resource-new]thing" (func $new (param i32) (result i32)))
(func (export "hostile:mine/things#[constructor]thing") (result i32) (call $new (i32.const 0)))
(func (export "hostile:mine/things#[dtor]thing") (param i32))
(func $run
  (local $left i32)
  (local.set $left (i32.const 1000000))
  (loop $again
    (drop (call $new (i32.const 0)))
    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
    (br_if $again (local.get $left))))
