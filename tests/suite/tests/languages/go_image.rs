//! Components in Go begin with the memory that its runtime had when they were built. What must differ between calls is renewed, and
//! all else is as in any Go.

use super::templates::begin;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use suite::cli::Ran;
use suite::{Home, paths};

/// The template with one more tool, `look`, and what it looks at.
fn looking(home: &Home, more: &str) -> PathBuf {
    let folder = begin(home, "go");
    fs::write(folder.join("look.go"), format!("{LOOK}\n{more}")).unwrap();
    let manifest = folder.join("manifest.json");
    let requests = fs::read_to_string(&manifest)
        .unwrap()
        .replace("\"requests\": {}", "\"requests\": { \"env\": [\"CITY\"], \"filesystem\": \"read\" }");
    assert!(requests.contains("CITY"), "{requests}");
    fs::write(manifest, requests).unwrap();
    fs::create_dir(folder.join("data")).unwrap();
    fs::write(folder.join("data/note"), "from a file").unwrap();
    let grants =
        "grants.env = [\"CITY\"]\ngrants.filesystem = [{ host = \"data\", guest = \"/data\", access = \"read\" }]\n";
    let config = folder.join("portcullis.toml");
    let text = fs::read_to_string(&config).unwrap() + grants;
    fs::write(config, text).unwrap();
    folder
}

fn ran(home: &Home, folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new(paths::binary());
    command.args(arguments).current_dir(folder).env("CITY", "Oslo");
    command.env("PORTCULLIS_CACHE", paths::cache()).env("PORTCULLIS_STATE", home.path().join("state"));
    let ran = suite::cli::run(command);
    ran.good();
    ran
}

fn look(home: &Home, folder: &Path) -> serde_json::Value {
    serde_json::from_str(&ran(home, folder, &["call", "hello-go", "look"]).stdout).unwrap()
}

#[test]
fn go_has_started_and_knows_what_is_new() {
    let home = Home::new();
    let folder = looking(&home, "var begun = 0");
    let said = ran(&home, &folder, &["build"]).stderr;
    assert!(!said.contains("note"), "{said}");
    let (first, second) = (look(&home, &folder), look(&home, &folder));
    for at in 0..3 {
        assert_ne!(first["random"][at], second["random"][at], "the memory has no random numbers");
    }
    for mut seen in [first, second] {
        seen["random"].take();
        let expected = json!({
            "random": null, "started": 1, "calls": 1, "city": "Oslo", "all": 1, "note": "from a file", "outside": false,
            "this century": true, "slept": true, "sum": 4950, "deep": 1000, "collected": true, "kept": "kept", "begun": 0,
        });
        assert_eq!(seen, expected);
    }
    // It has no start that a call would pay for.
    let call = ran(&home, &folder, &["call", "hello-go", "greet", "name=Ada"]);
    let fuel = call.stderr.split("-- ").last().unwrap().split(' ').next().unwrap().replace('_', "");
    assert!(fuel.parse::<u64>().unwrap() < 300_000, "{call:?}");
}

#[test]
fn a_start_that_depends_on_the_call_happens_in_each() {
    let home = Home::new();
    let folder = looking(&home, "var begun = time.Now().Year()");
    let said = ran(&home, &folder, &["build"]).stderr;
    assert!(said.contains("asks for what time it is\n"), "{said}");
    assert!(said.contains("note: Go starts anew in each call"), "{said}");
    let quiet = ran(&home, &folder, &["--quiet", "build"]);
    assert_eq!(quiet.stderr, "", "{quiet:?}");
    let seen = look(&home, &folder);
    assert!(seen["begun"].as_u64().unwrap() > 2025, "{seen}");
    assert_eq!((&seen["city"], &seen["note"]), (&json!("Oslo"), &json!("from a file")));
}

const LOOK: &str = r#"package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	mathrand "math/rand/v2"
	"os"
	"runtime"
	"strings"
	"time"

	"portcullis"
)

var (
	started = 0
	calls   = 0
	kept    = strings.Repeat("k", 1) + "ept"
	garbage [][]byte
)

func init() {
	started++
	portcullis.Tool("look", "Looks at the memory.", look)
}

func deep(n int) int {
	var room [64]byte
	if n == 0 {
		return int(room[0])
	}
	return deep(n-1) + 1
}

func look(ctx context.Context, _ portcullis.Nothing) (map[string]any, error) {
	calls++
	secret := make([]byte, 8)
	rand.Read(secret)
	// The order of a map is random, too.
	order, numbers := "", map[string]int{}
	for _, letter := range strings.Split("abcdefghijklmnop", "") {
		numbers[letter] = 1
	}
	for letter := range numbers {
		order += letter
	}
	note, err := os.ReadFile("/data/note")
	if err != nil {
		return nil, err
	}
	_, outside := os.Stat("/etc/passwd")
	before := time.Now()
	time.Sleep(2 * time.Millisecond)
	slept := time.Since(before) >= time.Millisecond
	// Goroutines take turns.
	parts := make(chan int)
	for n := range 100 {
		go func() { parts <- n }()
	}
	sum := 0
	for range 100 {
		sum += <-parts
	}
	// More than the collector lets pass.
	var memory runtime.MemStats
	for n := range 40 {
		garbage = append(garbage[:n%4], make([]byte, 1<<20))
	}
	garbage = nil
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return map[string]any{
		"random": []any{hex.EncodeToString(secret), mathrand.Uint64(), order}, "started": started, "calls": calls,
		"city": os.Getenv("CITY"), "all": len(os.Environ()), "note": string(note), "outside": outside == nil,
		"this century": before.Year() > 2025, "slept": slept, "sum": sum, "deep": deep(1000),
		"collected": memory.NumGC > 2 && memory.HeapAlloc < 8<<20, "kept": kept, "begun": begun,
	}, nil
}
"#;
