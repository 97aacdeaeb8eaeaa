//! A component that knows nothing of us, and has resources: what is made for a call is gone after it.

wit_bindgen::generate!({
    inline: r#"
        package acme:store@1.0.0;

        interface shop {
            record item { name: string, price: u32 }

            resource cart {
                constructor(owner: string, items: list<item>);
                total: func() -> u32;
                describe: func(title: option<string>) -> result<string, string>;
                digest: func(salt: list<u8>) -> list<u8>;
                spin: func();
                another: func() -> cart;
                most: static func() -> u32;
            }

            resource bell {
                constructor();
                ring: func(times: u8) -> string;
            }

            resource hidden {
                look: func() -> u32;
            }

            record deal { of: cart, price: u32 }

            open: func(owner: string) -> cart;
            dearer: func(one: borrow<cart>, other: borrow<cart>) -> bool;
            close: func(deals: list<deal>) -> u32;
            deals: func() -> option<list<deal>>;
            rings: func() -> u32;
            left: func() -> u32;
        }

        world store {
            export shop;
        }
    "#,
});

use exports::acme::store::shop::{Cart, CartBorrow, Deal, Guest, GuestBell, GuestCart, GuestHidden, Item};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

struct Shop;

static RINGS: AtomicU32 = AtomicU32::new(0);
static LEFT: AtomicU32 = AtomicU32::new(0);

struct MyCart {
    owner: String,
    items: Vec<Item>,
}

impl Drop for MyCart {
    fn drop(&mut self) {
        println!("the cart of {} is gone", self.owner);
        LEFT.fetch_add(1, Ordering::Relaxed);
    }
}

impl GuestCart for MyCart {
    fn new(owner: String, items: Vec<Item>) -> Self {
        Self { owner, items }
    }

    fn total(&self) -> u32 {
        self.items.iter().map(|item| item.price).sum()
    }

    fn describe(&self, title: Option<String>) -> Result<String, String> {
        let names: Vec<&str> = self.items.iter().map(|item| item.name.as_str()).collect();
        match names.is_empty() {
            true => Err(format!("{} has nothing", self.owner)),
            false => Ok(format!("{}{}: {}", title.unwrap_or_default(), self.owner, names.join(", "))),
        }
    }

    fn digest(&self, salt: Vec<u8>) -> Vec<u8> {
        salt.into_iter().map(|byte| byte ^ self.total() as u8).collect()
    }

    fn spin(&self) {
        loop {
            std::hint::black_box(0);
        }
    }

    fn another(&self) -> Cart {
        Cart::new(Self { owner: self.owner.clone(), items: vec![] })
    }

    fn most() -> u32 {
        99
    }
}

struct MyBell(Cell<u32>);

impl GuestBell for MyBell {
    fn new() -> Self {
        Self(Cell::new(0))
    }

    fn ring(&self, times: u8) -> String {
        RINGS.fetch_add(times.into(), Ordering::Relaxed);
        self.0.set(self.0.get() + u32::from(times));
        "ding ".repeat(self.0.get() as usize).trim_end().to_owned()
    }
}

struct MyHidden;

impl GuestHidden for MyHidden {
    fn look(&self) -> u32 {
        1
    }
}

impl Guest for Shop {
    type Cart = MyCart;
    type Bell = MyBell;
    type Hidden = MyHidden;

    fn open(owner: String) -> Cart {
        Cart::new(MyCart { owner, items: vec![] })
    }

    fn dearer(one: CartBorrow<'_>, other: CartBorrow<'_>) -> bool {
        one.get::<MyCart>().total() > other.get::<MyCart>().total()
    }

    fn close(deals: Vec<Deal>) -> u32 {
        deals.iter().map(|deal| deal.price + deal.of.get::<MyCart>().total()).sum()
    }

    fn deals() -> Option<Vec<Deal>> {
        None
    }

    fn rings() -> u32 {
        RINGS.load(Ordering::Relaxed)
    }

    fn left() -> u32 {
        LEFT.load(Ordering::Relaxed)
    }
}

export!(Shop);
