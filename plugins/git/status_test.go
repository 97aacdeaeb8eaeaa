package main

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"portcullis"
	"portcullis/portcullistest"

	"github.com/go-git/go-git/v5/plumbing"
)

func run(t *testing.T, folder, program string, arguments ...string) string {
	t.Helper()
	command := exec.Command(program, arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, arguments, err, said)
	}
	return string(said)
}

func statusOf(t *testing.T, folder string) (status, error) {
	t.Helper()
	var found status
	result, err := portcullistest.New().Call("status", standing{folder, 1000})
	if err == nil {
		err = json.Unmarshal([]byte(result.Structured), &found)
	}
	return found, err
}

// lines writes a status as `git status --porcelain=v2` does, without modes and hashes.
func lines(found status) []string {
	letters := map[string]string{"added": "A", "removed": "D", "changed": "M", "retyped": "T"}
	pairs := map[string]string{
		"removed by both": "DD", "added by us": "AU", "removed by them": "UD", "added by them": "UA", "removed by us": "DU",
		"added by both": "AA", "changed by both": "UU",
	}
	sides := map[string][2]string{}
	for side, states := range [][]state{found.Staged, found.Unstaged} {
		for _, state := range states {
			both := sides[state.Path]
			both[side] = letters[state.Change]
			sides[state.Path] = both
		}
	}
	var made []string
	for path, both := range sides {
		for side := range both {
			if both[side] == "" {
				both[side] = "."
			}
		}
		made = append(made, "1 "+both[0]+both[1]+" "+path)
	}
	for _, state := range found.Conflicted {
		made = append(made, "u "+pairs[state.Change]+" "+state.Path)
	}
	for _, path := range found.Untracked {
		made = append(made, "? "+path)
	}
	slices.Sort(made)
	return made
}

func gitLines(t *testing.T, folder string) []string {
	t.Helper()
	var made []string
	said := run(t, folder, "git", "-c", "status.renames=false", "-c", "core.fileMode=false", "status", "--porcelain=v2", "-z")
	for line := range strings.SplitSeq(strings.TrimSuffix(said, "\x00"), "\x00") {
		if line == "" {
			continue
		}
		// Before the path stand seven fields in a line that begins with 1, nine in one of a conflict.
		fields := map[byte]int{'1': 8, 'u': 10, '?': 1}[line[0]]
		parts := strings.SplitN(line, " ", fields+1)
		if fields > 1 {
			parts = []string{parts[0], parts[1], parts[fields]}
		}
		made = append(made, strings.Join(parts, " "))
	}
	slices.Sort(made)
	return made
}

func TestStatusSaysWhatGitSays(t *testing.T) {
	folder := t.TempDir()
	script, err := filepath.Abs("testdata/changes.sh")
	if err != nil {
		t.Fatal(err)
	}
	run(t, folder, "sh", script)
	repository := filepath.Join(folder, "repo")
	found, err := statusOf(t, repository)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := lines(found), gitLines(t, repository)
	for _, line := range theirs {
		if !slices.Contains(ours, line) {
			t.Errorf("only git says: %s", line)
		}
	}
	for _, line := range ours {
		if !slices.Contains(theirs, line) {
			t.Errorf("git does not say: %s", line)
		}
	}
	if len(theirs) < 30 {
		t.Errorf("git says little: %q", theirs)
	}
	if found.Branch == nil || *found.Branch != "main" || found.Upstream == nil || *found.Upstream != "origin/main" || *found.Ahead != 1 || *found.Behind != 0 {
		t.Errorf("%+v", found)
	}
	if !slices.Equal(found.Notes, []string{"changes in submodules are not looked at"}) {
		t.Error(found.Notes)
	}
}

// begin makes a repository with a commit of a file.
func begin(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	run(t, folder, "sh", "-c", `git init -q -b main . && git config user.name A && git config user.email a@example.com &&
		echo one > file && git add . && git commit -qm one`)
	return folder
}

func TestStatusOfOtherStates(t *testing.T) {
	for what, state := range map[string]struct{ script, wanted string }{
		"nothing changed":    {"true", "main"},
		"no commit yet":      {"git checkout -q --orphan new", "new no-commit"},
		"a detached HEAD":    {"git checkout -q --detach", "detached"},
		"the upstream ahead": {"git branch up && git commit -q --allow-empty -m two && git branch -f up && git reset -q --hard HEAD~1 && git branch -qu up", "main +0 -1"},
		"both ahead": {`git branch up && git checkout -q up && git commit -q --allow-empty -m two && git commit -q --allow-empty -m three &&
			git checkout -q main && git commit -q --allow-empty -m four && git branch -qu up`, "main +1 -2"},
		"an upstream with a merge of it": {`git checkout -qb up && git commit -q --allow-empty -m two && git checkout -q main && git commit -q --allow-empty -m three &&
			git checkout -q up && git merge -q main -m merged && git checkout -q main && git branch -qu up`, "main +0 -2"},
		"an upstream that is gone":    {"git branch up && git branch -qu up && git branch -D up", "main note: the upstream is gone"},
		"a checksum that is left out": {"git config index.skipHash true && echo two > two && git add two && git rm -q --cached two && rm two", "main"},
	} {
		folder := begin(t)
		run(t, folder, "sh", "-c", state.script)
		found, err := statusOf(t, folder)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		said := "detached"
		if found.Branch != nil {
			said = *found.Branch
		}
		if found.Commit == nil {
			said += " no-commit"
		}
		if found.Ahead != nil {
			said += fmt.Sprintf(" +%d -%d", *found.Ahead, *found.Behind)
		}
		for _, note := range found.Notes {
			said += " note: " + note
		}
		theirs := gitLines(t, folder)
		if said != state.wanted || !slices.Equal(lines(found), theirs) {
			t.Errorf("%s: %s, %q, git says %q", what, said, lines(found), theirs)
		}
	}
}

func TestChangesWithinTheMomentOfTheIndexAreSeen(t *testing.T) {
	folder := begin(t)
	index := filepath.Join(folder, ".git/index")
	is, err := os.Stat(filepath.Join(folder, "file"))
	if err != nil {
		t.Fatal(err)
	}
	// Of the same size and the same time, and the index is no younger.
	write(t, filepath.Join(folder, "file"), []byte("two\n"))
	for _, file := range []string{filepath.Join(folder, "file"), index} {
		if err := os.Chtimes(file, is.ModTime(), is.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	found, err := statusOf(t, folder)
	if err != nil || !slices.Equal(lines(found), []string{"1 .M file"}) {
		t.Fatal(found, err)
	}
}

func TestLinesThatGitConvertsAreTheSame(t *testing.T) {
	folder := begin(t)
	write(t, filepath.Join(folder, "file"), []byte("one\r\n"))
	run(t, folder, "sh", "-c", "git config core.autocrlf true && git add file && touch -d 2020-01-01 file")
	found, err := statusOf(t, folder)
	if err != nil || len(found.Unstaged) != 0 {
		t.Fatal(found, err)
	}
	run(t, folder, "git", "config", "core.autocrlf", "false")
	if found, err = statusOf(t, folder); err != nil || len(found.Unstaged) != 1 {
		t.Fatal(found, err)
	}
}

// signed is an index with a right checksum.
func signed(version, count uint32, names ...string) []byte {
	index := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("DIRC"), version), count)
	for _, name := range names {
		entry := make([]byte, 62)
		binary.BigEndian.PutUint32(entry[24:], 0o100644)
		binary.BigEndian.PutUint16(entry[60:], uint16(min(len(name), 0xfff)))
		entry = append(entry, name...)
		index = append(append(index, entry...), make([]byte, 8-len(entry)%8)...)
	}
	sum := sha1.Sum(index)
	return append(index, sum[:]...)
}

func TestHostileIndexesAreRefused(t *testing.T) {
	for what, hostile := range map[string]struct {
		index  []byte
		wanted string
	}{
		"a path above":         {signed(2, 1, "../../etc/passwd"), "no path in a working tree"},
		"an absolute path":     {signed(2, 1, "/etc/passwd"), "no path in a working tree"},
		"a path through above": {signed(2, 1, "a/../../b"), "no path in a working tree"},
		"a file of Git's":      {signed(2, 1, "a/.GIT/config"), "no path in a working tree"},
		"an empty path":        {signed(2, 1, ""), "no path in a working tree"},
		"too many entries":     {signed(2, 1<<32-1, "file"), "the index is damaged"},
		"a version to come":    {signed(9, 0), "the index is damaged"},
		"version 4":            {signed(4, 0), "version 4"},
		"a wrong checksum":     {append([]byte("DIRC\x00\x00\x00\x02"), signed(2, 0)[9:]...), "the index is damaged"},
		"nothing":              {nil, "the index is damaged"},
		"a huge file":          {make([]byte, largestIndex+1), "larger than 4 MiB"},
	} {
		folder := begin(t)
		write(t, filepath.Join(folder, ".git/index"), hostile.index)
		if _, err := statusOf(t, folder); err == nil || !strings.Contains(err.Error(), hostile.wanted) {
			t.Errorf("%s: %v", what, err)
		}
	}
	folder := begin(t)
	run(t, folder, "git", "update-index", "--split-index")
	if _, err := statusOf(t, folder); err == nil || !strings.Contains(err.Error(), "split or sparse") {
		t.Error(err)
	}
}

func TestStatusDoesNotFollowLinks(t *testing.T) {
	folder := begin(t)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), []byte("secret"))
	write(t, filepath.Join(outside, ".gitignore"), []byte("*\n"))
	run(t, folder, "sh", "-c", "mkdir sub && cp file sub/secret && git add . && rm -r sub && ln -s "+outside+" sub && ln -s "+outside+"/.gitignore .gitignore")
	found, err := statusOf(t, folder)
	if err != nil || !slices.Equal(lines(found), []string{"1 AD sub/secret", "? .gitignore", "? sub"}) {
		t.Fatal(lines(found), err)
	}
}

func TestManyUntrackedFilesAreBounded(t *testing.T) {
	folder := begin(t)
	for i := range 6 * mostNamed {
		write(t, filepath.Join(folder, "new", fmt.Sprintf("%05d", i)), nil)
		write(t, filepath.Join(folder, fmt.Sprintf("%05d", i)), nil)
	}
	found, err := statusOf(t, folder)
	if err != nil || len(found.Untracked) != mostNamed || found.Untracked[mostNamed-1] != "00999" || !slices.Equal(found.Notes, []string{"6001 untracked were found"}) {
		t.Fatal(len(found.Untracked), found.Notes, err)
	}
	repository, err := open(portcullis.WithHost(t.Context(), portcullistest.New()), folder)
	if err != nil {
		t.Fatal(err)
	}
	// As if it had seen almost as many as it may.
	looking := &looking{repository: repository, seen: mostSeen - 10}
	if err := looking.begin(); err != nil || looking.count > 10 || looking.stopped == nil || !strings.Contains(*looking.stopped, "more than 100,000 names") {
		t.Fatal(looking.count, looking.stopped, err)
	}
}

func TestStatusWithoutAWorkingTreeIsRefused(t *testing.T) {
	for what, script := range map[string]string{"bare": "git clone -q --bare . asked", "elsewhere": "git clone -q . asked && git -C asked config core.worktree /elsewhere"} {
		folder := begin(t)
		run(t, folder, "sh", "-c", script)
		if _, err := statusOf(t, filepath.Join(folder, "asked")); err == nil || !strings.Contains(err.Error(), "no working tree in this folder") {
			t.Error(what, err)
		}
	}
}

func TestStatusOfASubmodule(t *testing.T) {
	folder := begin(t)
	run(t, folder, "sh", "-c", "git -c protocol.file.allow=always submodule --quiet add ./ sub && echo two >> sub/file")
	found, err := statusOf(t, filepath.Join(folder, "sub"))
	if err != nil || !slices.Equal(lines(found), []string{"1 .M file"}) {
		t.Fatal(found, err)
	}
}

func TestTooManyPatternsLeaveTheRest(t *testing.T) {
	folder := begin(t)
	write(t, filepath.Join(folder, ".gitignore"), []byte(strings.Repeat("x\n", mostPatterns+1)))
	write(t, filepath.Join(folder, "file"), []byte("changed"))
	found, err := statusOf(t, folder)
	if err != nil || !slices.Equal(lines(found), []string{"1 .M file"}) || len(found.Notes) != 1 || !strings.Contains(found.Notes[0], "more than 1,000 patterns") {
		t.Fatal(found, err)
	}
}

func TestDeepFoldersAreBounded(t *testing.T) {
	folder := begin(t)
	write(t, filepath.Join(folder, strings.Repeat("d/", deepest+5), "file"), nil)
	found, err := statusOf(t, folder)
	if err != nil || len(found.Untracked) != 0 || len(found.Notes) != 1 || !strings.Contains(found.Notes[0], "folders in 200 folders") {
		t.Fatal(found, err)
	}
}

func TestBorrowedCommitsAreFoundByTheBeginningOfTheirHash(t *testing.T) {
	folder := begin(t)
	run(t, folder, "sh", "-c", "git clone -q --shared . ../borrowing && cd ../borrowing && git config user.name A && git config user.email a@example.com && git commit -q --allow-empty -m two")
	borrowing := filepath.Join(filepath.Dir(folder), "borrowing")
	for _, revision := range []string{"main", "main~1"} {
		hash := strings.TrimSpace(run(t, borrowing, "git", "rev-parse", revision))
		result, err := portcullistest.New().Call("log", logged{Repository: borrowing, Revision: hash[:7], Max: 1})
		if err != nil || !strings.Contains(string(result.Structured), hash) {
			t.Error(revision, err)
		}
	}
}

func TestAFolderThatHasItselfInItEnds(t *testing.T) {
	one := hashOf(1)
	tree := append([]byte("40000 a\x00"), one[:]...)
	store, err := packed(t, []piece{{1, plumbing.TreeObject, len(tree), nil, tree}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	repository := &repository{objects: store, reserve: newReserve(portcullis.WithHost(t.Context(), portcullistest.New()))}
	if err := repository.leaves(one, "", 0, map[string]leaf{}); err == nil || !strings.Contains(err.Error(), "folders in 200 folders") {
		t.Fatal(err)
	}
}
