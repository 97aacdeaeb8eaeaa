;; Drops a resource whose destructor computes for ever.
(import "[export]hostile:mine/things" "[resource-new]thing" (func $new (param i32) (result i32)))
(import "[export]hostile:mine/things" "[resource-drop]thing" (func $drop (param i32)))
(func (export "hostile:mine/things#[constructor]thing") (result i32) (call $new (i32.const 0)))
(func (export "hostile:mine/things#[dtor]thing") (param i32) (loop $again (br $again)))
(func $run (call $drop (call $new (i32.const 0))))
