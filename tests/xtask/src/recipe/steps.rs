//! The recipe for a new import, followed for a toy: `dice`, with one function `roll`.

use super::step::Change::{After, Before, New};
use super::step::{Step, steps};

macro_rules! toy {
    ($file:literal) => {
        New(include_str!(concat!("../../recipe/", $file)))
    };
}

pub(super) const STEPS: &[Step] = steps! {
    "WIT" "wit/v0.1/events.wit" {
        "wit/v0.1/dice.wit": toy!("dice.wit");
    }
    "WIT" "wit/v0.1/world.wit" {
        "wit/v0.1/world.wit": After("    import events;\n", "    import dice;\n");
    }
    "WIT" "wit/README.md" {
        "wit/README.md": Before("| `events` | notifications", "| `dice` | random numbers | `dice` |\n");
        "wit/README.md": Before("| `events` | patterns", "| `dice` | `true` |\n");
    }

    "capability" "policy/capabilities/events" {
        "host/crates/policy/src/capabilities/dice.rs": toy!("capability.rs");
        "host/crates/policy/src/capabilities/mod.rs": Before("mod env;\n", "mod dice;\n");
    }
    "capability" "policy/capabilities/list" {
        "host/crates/policy/src/capabilities/list.rs": Before("        env: EnvRules, ",
            "        dice: DiceRules, bool, bool => Dice(DiceUse);\n");
    }

    "host types" "runtime/imports/events" {
        "host/crates/runtime/src/imports/dice.rs": toy!("host_types.rs");
        "host/crates/runtime/src/imports/mod.rs": Before("mod events;\n", "mod dice;\n");
        "host/crates/runtime/src/imports/mod.rs": Before("pub use events::", "pub use dice::{DiceRoller, RollError};\n");
    }
    "host types" "runtime/imports/call_imports" {
        "host/crates/runtime/src/imports/call_imports.rs": Before("    pub fn events(&self)",
            "    pub fn dice(&self) -> super::dice::Dice<'_> {\n        super::dice::Dice::new(&self.scope, &*self.services.dice)\n    }\n\n");
    }

    "link" "runtime/abi/v0_1/events" {
        "host/crates/runtime/src/abi/v0_1/dice.rs": toy!("link.rs");
        "host/crates/runtime/src/abi/v0_1/mod.rs": Before("mod events;\n", "mod dice;\n");
    }
    "link" "runtime/abi/v0_1/linker" {
        "host/crates/runtime/src/abi/v0_1/linker.rs": Before("    super::events::add_to_linker(",
            "    super::dice::add_to_linker(&mut linker)?;\n");
    }

    "service" "services/lib" {
        "host/crates/services/src/dice.rs": toy!("service.rs");
        "host/crates/services/src/lib.rs": Before("pub mod egress;\n", "pub mod dice;\n");
    }
    "service" "runtime/imports/host_services" {
        "host/crates/runtime/src/imports/host_services.rs": Before("    state: dyn state::StateStore",
            "    dice: dyn super::dice::DiceRoller = Arc::new(super::dice::NoDice);\n");
    }
    "service" "host/src/host.rs" {
        "host/src/host.rs": Before("            events: principal_store.clone(),\n",
            "            dice: Arc::new(services::dice::SystemDice),\n");
    }

    "operator" "host/src/cli/test/requests.rs" {
        "host/src/cli/test/requests.rs": Before("            // A transcript has no connected accounts",
            "            // Nobody counts its uses.\n            dice: _,\n");
    }
    "operator" "host/src/config/example.toml" {
        "host/src/config/example.toml": Before("events = [\"policy.*\"]", "dice = true                        # roll dice\n");
    }
    "operator" "host/docs/grants.md" {
        "host/docs/grants.md": Before("| HTTP requests |", "| dice | none | `grants.dice` |\n");
    }

    "SDK" "guest-sdk/rust/src/events.rs" {
        "guest-sdk/rust/src/dice.rs": toy!("sdk.rs");
        "guest-sdk/rust/src/lib.rs": Before("pub mod events;\n", "pub mod dice;\n");
        "guest-sdk/rust/src/lib.rs": Before("[`events`], ", "[`dice`], ");
    }
    "SDK" "guest-sdk/rust/src/host_types" {
        "guest-sdk/rust/src/host_types/dice.rs": toy!("sdk_types.rs");
        "guest-sdk/rust/src/host_types/mod.rs": Before("pub(crate) mod events;\n", "pub(crate) mod dice;\n");
    }
    "SDK" "guest-sdk/rust/src/imports" {
        "guest-sdk/rust/src/imports/wasm/rolling.rs": toy!("sdk_import.rs");
        "guest-sdk/rust/src/imports/wasm/mod.rs": Before("mod sending;\n", "mod rolling;\n");
        "guest-sdk/rust/src/imports/wasm/mod.rs": Before("pub(crate) use sending::", "pub(crate) use rolling::roll_die;\n");
        "guest-sdk/rust/src/imports/native.rs": Before("    http::send_http,\n", "    dice::roll_die,\n");
    }
    "SDK" "guest-sdk/rust/src/testing" {
        "guest-sdk/rust/src/testing/dice.rs": toy!("sdk_fake.rs");
        "guest-sdk/rust/src/testing/mod.rs": Before("mod host;\n", "pub(crate) mod dice;\n");
        "guest-sdk/rust/src/testing/scripted.rs": Before("`publish`, `events` or", "`dice`, ");
    }
    "SDK" "guest-sdk/rust/macros" {
        "guest-sdk/rust/macros/src/manifest.rs": Before("    (\"events\", ", "    (\"dice\", RequestForm::Flag),\n");
        "guest-sdk/rust/macros/src/lib.rs": After("sample, roots), publish,", " dice,");
    }
    "SDK" "guest-sdk/rust/README.md" {
        "guest-sdk/rust/README.md": Before("| `events` | put news", "| `dice` | roll dice | `dice` |\n");
    }

    "tests" "tests/suite/tests/imports.txt" {
        "tests/suite/tests/imports.txt": Before("portcullis:plugin/events emit:", "portcullis:plugin/dice roll: error denied\n");
    }
    "tests" "tests/suite/tests/published.rs" {
        "tests/suite/tests/dice.rs": toy!("suite_test.rs");
        "tests/suite/tests/main.rs": Before("mod drain;\n", "mod dice;\n");
    }
    "tests" "tests/guests" {
        "tests/guests/examples/dice.rs": toy!("guest.rs");
        "tests/guests/Cargo.toml": Before("[[example]]\nname = \"echo\"\n",
            "[[example]]\nname = \"dice\"\ncrate-type = [\"cdylib\"]\n\n");
    }
    "tests" "guest-sdk/rust/tests" {
        "guest-sdk/rust/tests/dice.rs": toy!("sdk_test.rs");
        "guest-sdk/rust/tests/ui/requests.stderr": Before("events, connections, http, ", "dice, ");
    }
};
