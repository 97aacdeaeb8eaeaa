//! The plugins `data`, `git`, `pdf` and `sql`: their transcripts, over files that are made here, and hostile files.

use std::fs;
use std::path::Path;
use std::process::Command;
use suite::{Home, paths, portcullis};

const DATABASES: &str = r#"
import shutil, sqlite3
shop = sqlite3.connect("data/shop.db")
shop.executescript("""
create table customer(id integer primary key, name text not null, city text default 'Lisbon');
create table orders(id integer primary key, customer int not null references customer(id), total real, note blob);
create virtual table docs using fts5(body);
insert into customer values (1, 'Ada', 'Porto'), (2, 'Bob', 'Lisbon'), (3, 'Eve', 'Porto');
insert into orders values (1, 1, 150.5, x'00ff');
insert into docs values ('the quick brown fox');
""")
shop.close()
log = sqlite3.connect("data/log.db")
log.execute("pragma journal_mode = wal")
log.execute("create table t(a)")
log.execute("insert into t values (1)")
log.commit()
for end in ("", "-wal"):
    shutil.copy("data/log.db" + end, "data/live.db" + end)
log.close()
whole = open("data/shop.db", "rb").read()
open("data/cut.db", "wb").write(whole[:5000])
open("data/text.db", "w").write("This is some text and no database.")
"#;

/// Names, times and settings are the test's own, so that hashes are the same everywhere.
const REPOSITORY: &str = r#"
set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
commit() { GIT_AUTHOR_NAME=$1 GIT_COMMITTER_NAME=$1 GIT_AUTHOR_EMAIL=$1@example.com GIT_COMMITTER_EMAIL=$1@example.com \
    GIT_AUTHOR_DATE="$2T12:00:00Z" GIT_COMMITTER_DATE="$2T12:00:00Z" git commit -qm "$3"; }
git init -q -b main data/repo
cd data/repo
printf 'one\ntwo\nthree\n' > lines.txt && git add . && commit Ada 2026-01-01 'Add lines'
printf 'one\nTWO\nthree\n' > lines.txt && printf 'a\0b' > image.bin && git add . && commit Bob 2026-01-02 'Change a line'
git tag v1 && git gc -q
printf 'four\n' >> lines.txt && git add . && commit Ada 2026-01-03 'Add a line'
cd ..
mkdir linked stolen && echo 'gitdir: /elsewhere/repo' > linked/.git && ln -s ../../outside-repo stolen/.git
cp -r repo ../outside-repo
"#;

fn passes(name: &str, make: &mut Command, home: &Home) {
    fs::create_dir_all(home.path().join("data")).unwrap();
    run_in(make, home.path());
    let component = paths::real_plugin(name);
    let mut count = 0;
    for entry in fs::read_dir(paths::root().join("plugins").join(name).join("tests")).unwrap() {
        let from = entry.unwrap().path();
        let to = home.write(from.file_name().unwrap().to_str().unwrap(), fs::read(&from).unwrap());
        portcullis(home, &["test", component.to_str().unwrap(), to.to_str().unwrap()]).good();
        count += 1;
    }
    assert!(count > 0, "{name} has transcripts");
}

fn run_in(make: &mut Command, folder: &Path) {
    let made = make.current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn sql_reads_and_changes_databases_and_nothing_else() {
    let home = Home::new();
    passes("sql", Command::new(paths::python()).args(["-c", DATABASES]), &home);
    let left: Vec<_> =
        fs::read_dir(home.path().join("data")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_str().unwrap().ends_with(".lock")), "{left:?}");
}

#[test]
fn git_answers_questions_and_stays_inside() {
    let home = Home::new();
    passes("git", Command::new("bash").args(["-c", REPOSITORY]), &home);
}

/// Repositories that keep their files in other ways. What they name by absolute paths of this machine is named here as the plugin sees it.
const SHAPES: &str = r#"
set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_COMMITTER_NAME=A GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_EMAIL=a@example.com
mkdir data && cd data && git init -q -b main repo
for day in 1 2 3; do
    echo $day >> repo/a.txt && git -C repo add .
    GIT_AUTHOR_DATE=2026-01-0${day}T12:00:00Z GIT_COMMITTER_DATE=2026-01-0${day}T12:00:00Z git -C repo commit -qm "Day $day"
done
git -C repo branch side HEAD~1
git clone -q --bare repo bare && git -C bare pack-refs --all
git clone -q --shared repo shared
git clone -q --depth 1 "file://$PWD/repo" shallow
git -C repo worktree add -q ../linked side
git init -q reftable && git -C reftable config extensions.refstorage reftable
git init -q --object-format=sha256 sha256
sed -i "s#$PWD/#/data/#" shared/.git/objects/info/alternates linked/.git
"#;

#[test]
fn git_reads_repositories_of_many_shapes() {
    let home = Home::new();
    run_in(Command::new("sh").args(["-c", SHAPES]), home.path());
    let folders = "grants.filesystem = [{ host = \"data\", guest = \"/data\", access = \"read\" }]\n";
    home.write("portcullis.toml", suite::plugin_from("git", &paths::real_plugin("git"), folders));
    let log = |folder: &str| {
        let repository = format!("repository=/data/{folder}");
        let ran = portcullis(&home, &["call", "git", "log", &repository, "--config", "portcullis.toml"]);
        format!("{}{}", ran.stdout, ran.stderr)
    };
    let days = |said: &str| (1..=3).filter(|day| said.contains(&format!("\"Day {day}\""))).collect::<Vec<_>>();
    for whole in ["repo", "bare", "shared"] {
        assert_eq!(days(&log(whole)), [1, 2, 3], "{whole}: {}", log(whole));
    }
    for arguments in [&["diff", "from=HEAD~1", "to=HEAD"][..], &["show"]] {
        let mut command = vec!["call", "git"];
        command.extend(arguments);
        command.extend(["repository=/data/shared", "--config", "portcullis.toml"]);
        assert!(portcullis(&home, &command).good().contains("+3"), "{arguments:?}");
    }
    let mut borrowed = Command::new("git");
    borrowed.args(["-C", "data/shared", "rev-parse", "--short", "HEAD"]).current_dir(home.path());
    let borrowed = suite::cli::run(borrowed).good().to_owned();
    let revision = format!("revision={}", borrowed.trim());
    let command = ["call", "git", "log", "repository=/data/shared", &revision, "--config", "portcullis.toml"];
    assert!(portcullis(&home, &command).good().contains("\"Day 3\""), "{revision}");
    assert_eq!(days(&log("linked")), [1, 2], "{}", log("linked"));
    let shallow = log("shallow");
    assert!(days(&shallow) == [3] && shallow.contains("older commits are not in this repository"), "{shallow}");
    assert!(log("reftable").contains("names in `reftable` are not read"), "{}", log("reftable"));
    assert!(log("sha256").contains("only those with SHA-1"), "{}", log("sha256"));
}

/// Every kind of change, by the plugin and by Git itself.
#[test]
fn git_says_what_git_status_says() {
    let home = Home::new();
    let script = paths::root().join("plugins/git/testdata/changes.sh");
    fs::create_dir(home.path().join("data")).unwrap();
    run_in(Command::new("sh").arg(script), &home.path().join("data"));
    let repository = home.path().join("data/repo");
    // Pipes are seen as files; the plugin's page says so.
    fs::remove_file(repository.join("pipe")).unwrap();
    let mut git = Command::new("git");
    git.args(["-c", "status.renames=false", "status", "--porcelain=v2", "-z"]).current_dir(&repository);
    let listed = suite::cli::run(git).good().to_owned();
    // Before the path stand eight fields in a line that begins with 1, ten in one of a conflict.
    let path = |line: &str| {
        let fields = [('1', 9), ('u', 11), ('?', 2)].into_iter().find(|(kind, _)| line.starts_with(*kind)).unwrap().1;
        line.splitn(fields, ' ').last().unwrap().to_owned()
    };
    let (mut untracked, mut conflicted, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    for line in listed.split_terminator('\0') {
        match line.chars().next() {
            Some('?') => untracked.push(path(line)),
            Some('u') => conflicted.push(path(line)),
            _ => changed.push(format!("{} {}", &line[2..4], path(line))),
        }
    }
    let folders = "grants.filesystem = [{ host = \"data\", guest = \"/data\", access = \"read\" }]\n";
    home.write("portcullis.toml", suite::plugin_from("git", &paths::real_plugin("git"), folders));
    let call = ["call", "git", "status", "repository=/data/repo", "--config", "portcullis.toml"];
    let said = portcullis(&home, &call).good().to_owned();
    let status: serde_json::Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let paths_of = |list: &str| -> Vec<String> {
        let list = status[list].as_array().unwrap().iter();
        list.map(|one| one.as_str().or(one["path"].as_str()).unwrap().to_owned()).collect()
    };
    assert_eq!((paths_of("untracked"), paths_of("conflicted")), (untracked, conflicted), "{status:#}");
    let letter = |list: &str, path: &str| {
        let list = status[list].as_array().unwrap();
        match list.iter().find(|one| one["path"] == path).map(|one| one["change"].as_str().unwrap()) {
            None => '.',
            Some("added") => 'A',
            Some("removed") => 'D',
            Some("retyped") => 'T',
            Some(_) => 'M',
        }
    };
    let mut both: Vec<_> = ["staged", "unstaged"].into_iter().flat_map(paths_of).collect();
    both.sort();
    both.dedup();
    let both: Vec<_> =
        both.iter().map(|path| format!("{}{} {path}", letter("staged", path), letter("unstaged", path))).collect();
    assert_eq!(both, changed, "{status:#}");
}

/// The plugin's own tests, natively and with the Go of the machine; nothing is fetched.
#[test]
fn the_go_tests_of_git_pass() {
    let home = Home::new();
    let copy = "cp -r \"$1/plugins/git\" plugin && rm -rf plugin/.portcullis && mkdir plugin/.portcullis && cp -r \"$1/guest-sdk/go\" plugin/.portcullis/go";
    run_in(Command::new("sh").args(["-c", copy, "sh"]).arg(paths::root()), home.path());
    for task in ["vet", "test"] {
        let mut go = Command::new("go");
        go.args([task, "."]).current_dir(home.path().join("plugin"));
        go.env("GOPROXY", "off").env("GOTOOLCHAIN", "local").env("GOWORK", "off");
        suite::cli::run(go).good();
    }
}

const DAMAGED: &str = r#"
import os, random, sqlite3
os.mkdir("data")
good = sqlite3.connect("data/good.db")
good.execute("create table t(a integer primary key, b text)")
good.executemany("insert into t values (?, ?)", [(number, "x" * 50) for number in range(500)])
good.execute("create index i on t(b)")
good.commit()
good.close()
schema = sqlite3.connect("data/schema.db")
schema.executescript("""
CREATE TABLE t(a); CREATE TABLE u(a); CREATE TABLE w(a);
CREATE VIEW leaves AS SELECT load_extension('/data/x.so') AS x;
CREATE VIEW settings AS SELECT * FROM pragma_table_info('t');
CREATE VIEW hidden AS SELECT json('{') AS x;
CREATE VIEW endless AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c;
CREATE TRIGGER fill AFTER INSERT ON t BEGIN INSERT INTO w SELECT * FROM endless; END;
CREATE TRIGGER leave AFTER INSERT ON u BEGIN SELECT load_extension('/data/x.so'); END;
""")
schema.commit()
schema.close()
whole = open("data/good.db", "rb").read()
for seed in range(8):
    dice, bytes_ = random.Random(seed), bytearray(whole)
    for _ in range(30):
        bytes_[dice.randrange(len(bytes_))] = dice.randrange(256)
    open(f"data/{seed}.db", "wb").write(bytes_)
"#;

/// Queries without an end, results without a bound, and databases with damaged pages end by an error or a limit, and never by a trap.
#[test]
fn sql_survives_hostile_queries_and_databases() {
    let home = Home::new();
    run_in(Command::new(paths::python()).args(["-c", DAMAGED]), home.path());
    let folders = "grants.filesystem = [{ host = \"data\", guest = \"/data\", access = \"write\" }]\n";
    home.write("portcullis.toml", suite::plugin_from("sql", &paths::real_plugin("sql"), folders));
    let run = |tool: &str, database: &str, sql: &str| {
        let (database, sql) = (format!("database=/data/{database}.db"), format!("sql={sql}"));
        let ran = portcullis(&home, &["call", "sql", tool, &database, &sql, "--config", "portcullis.toml"]);
        format!("{}{}", ran.stdout, ran.stderr)
    };
    let query = |database: &str, sql: &str| run("query", database, sql);
    let endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)";
    for (sql, said) in [
        (format!("{endless} SELECT count(*) FROM c"), "the call's fuel is nearly used up"),
        (format!("{endless} SELECT n FROM c"), "\"truncated\":true"),
        ("SELECT zeroblob(1000000000)".into(), "string or blob too big"),
        (format!("{endless} SELECT group_concat(hex(zeroblob(1000000))) FROM c"), "fuel-exhausted"),
        ("SELECT load_extension('x')".into(), "no such function: load_extension"),
        ("SELECT readfile('/data/good.db')".into(), "no such function: readfile"),
    ] {
        assert!(query("good", &sql).contains(said), "{sql}: {}", query("good", &sql));
    }
    // Each of two statements returns less than is allowed, both together more: all rows are changed, and it is said.
    let returning = "UPDATE t SET b = 'y' || a RETURNING a, replace(hex(zeroblob(1000)), '0', 'y');";
    let said = run("execute", "good", &returning.repeat(2));
    assert!(said.contains("\"changes\":1000,") && said.contains("\"truncated\":true"), "{said}");
    // What a database's own schema would do to those who read it or change it.
    for (sql, said) in [
        ("SELECT * FROM leaves", "no such function: load_extension"),
        ("SELECT * FROM settings", "unsafe use of virtual table"),
        ("SELECT x FROM hidden", "malformed JSON"),
        ("SELECT * FROM endless", "the call's fuel is nearly used up"),
    ] {
        let answer = query("schema", sql);
        assert!(answer.contains(said), "{sql}: {answer}");
    }
    for (sql, said) in [
        ("INSERT INTO t VALUES (1)", "the call's fuel is nearly used up"),
        ("INSERT INTO u VALUES (1)", "no such function: load_extension"),
        ("CREATE VIRTUAL TABLE v USING csv(filename = '/data/good.db')", "no such module: csv"),
        ("UPDATE sqlite_schema SET sql = 'CREATE TABLE t(z)'", "may not be modified"),
    ] {
        let answer = run("execute", "schema", sql);
        assert!(answer.contains(said), "{sql}: {answer}");
        assert!(query("schema", "SELECT count(*) AS n FROM t").contains("[[0]]"), "{sql} is undone as a whole");
    }
    for seed in 0..8 {
        let said = query(&seed.to_string(), "SELECT count(b), max(a), (SELECT count(*) FROM t WHERE b > 'a') FROM t");
        let is_answered = said.contains("\"count\":1,");
        assert!(is_answered || said.contains("malformed") || said.contains("not a database"), "{seed}: {said}");
    }
}

/// The transcripts that plugins have beside them.
#[test]
fn data_and_pdf_do_what_their_transcripts_say() {
    let home = Home::new();
    for name in ["data", "pdf"] {
        let mut arguments = vec!["test".to_owned(), paths::real_plugin(name).to_str().unwrap().to_owned()];
        let files = fs::read_dir(paths::root().join("plugins").join(name).join("tests")).unwrap();
        let files = files.map(|file| file.unwrap().path().to_str().unwrap().to_owned());
        arguments.extend(files.filter(|file| file.ends_with(".toml")));
        assert!(arguments.len() > 2, "{name} has no transcript");
        portcullis(&home, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).good();
    }
}

/// Loops, bombs and broken tables: each ends by an error that says what is wrong, or by a limit of the call.
#[test]
fn hostile_pdfs_end() {
    const MAKE: &str = r"
import zlib
def pdf(name, pages, content=b'BT ET', extra=b'', xref=b'startxref\n0\n'):
    stream = b'<< /Length %d %s >> stream\n%s\nendstream' % (len(content), extra, content)
    parts = [b'<< /Type /Catalog /Pages 2 0 R >>', pages, b'<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> /MediaBox [0 0 9 9] >>', stream]
    body = b''.join(b'%d 0 obj %s endobj\n' % (number, part) for number, part in enumerate(parts, 1))
    open(name, 'wb').write(b'%PDF-1.7\n' + body + b'trailer << /Root 1 0 R /Size 5 >>\n' + xref + b'%%EOF\n')
one = b'<< /Type /Pages /Kids [3 0 R] /Count 1 >>'
bomb = zlib.compress(bytes(200_000_000), 9)
pdf('bomb.pdf', one, bomb, b'/Filter /FlateDecode')
pdf('nested.pdf', one, zlib.compress(bomb, 9), b'/Filter [/FlateDecode /FlateDecode]')
pdf('loop.pdf', b'<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>')
pdf('count.pdf', b'<< /Type /Pages /Kids [3 0 R] /Count 999999999 >>')
pdf('xref.pdf', b'<< /Type /Pages /Kids [9 0 R] /Count 1 >>', xref=b'startxref\n99999999\n')
pdf('deep.pdf', one, b'[' * 100_000)
";
    let home = Home::new();
    let mut python = Command::new(paths::python());
    python.args(["-c", MAKE]).current_dir(home.path());
    suite::cli::run(python).good();
    home.write(
        "portcullis.toml",
        suite::plugin_from(
            "pdf",
            &paths::real_plugin("pdf"),
            "limits.memory = \"128 MiB\"\nlimits.fuel = 2_000_000_000\n\
             grants.filesystem = [{ host = \".\", guest = \"/pdf\", access = \"read\" }]\n",
        ),
    );
    for (file, ends) in [
        ("bomb", "page 1 is damaged: Limit reached while decompressing"),
        ("nested", "page 1 is damaged: Limit reached while decompressing"),
        ("loop", "is damaged: Detected cyclic page references"),
        ("count", "\"total_pages\":1,"),
        ("xref", "the document has 0 pages"),
        ("deep", "\"text\":\"\""),
    ] {
        let path = format!("path=/pdf/{file}.pdf");
        let ran = portcullis(&home, &["call", "pdf", "text", &path, "--config", "portcullis.toml"]);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(ends), "{file}: {ran:?}");
    }
}
