package main

import (
	"strings"
	"testing"
	"time"
)

func TestPatternsThatWouldNeverEndEnd(t *testing.T) {
	begun := time.Now()
	level := &ignoring{patterns: patterns(strings.Join([]string{
		strings.Repeat("*a", 300) + "b", strings.Repeat("**/", 300) + "b", strings.Repeat("[a-z]*", 100) + "!", strings.Repeat("?*", 300),
		strings.Repeat("*", 2000), "[", "[[:none:]]", "[z-a]", `\`, "!", "/", "//", "***/***", "[]", "[!]", "[^", `[\`,
	}, "\n"))}
	name := strings.Repeat("a", 255)
	if level.ignored(strings.Repeat(name+"/", 15)+name, false) {
		t.Error("it is ignored")
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Error(took)
	}
}
