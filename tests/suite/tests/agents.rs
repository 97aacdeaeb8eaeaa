//! A real agent on the journey of `cargo xtask clients --agents`, which takes more of them and further.

use suite::agents::{Agent, calls, killed, program, server_killed};
use suite::journey::{Outcome, STEPS, Transport};

#[test]
fn an_agent_goes_through_the_journey() {
    let agent = Agent::GEMINI_CLI;
    let version = agent.version().expect("Gemini CLI is not installed; `cargo xtask test` installs it");
    for transport in Transport::ALL {
        let mut outcomes = calls(agent, transport);
        outcomes.push(killed(agent, transport));
        for (outcome, step) in outcomes.iter().zip(STEPS) {
            assert!(!matches!(outcome, Outcome::Wrong(_)), "{version} over {}, {step}: {outcome:?}", transport.name());
        }
    }
}

#[test]
fn a_model_behind_an_agent_writes_a_program() {
    for transport in Transport::ALL {
        assert_eq!(program(Agent::GEMINI_CLI, transport), Outcome::Good, "over {}", transport.name());
    }
}

#[test]
fn an_agent_keeps_a_server_that_was_killed() {
    assert_eq!(server_killed(Agent::GEMINI_CLI), Outcome::Good);
}
