package core_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/storetest"
)

var record = flag.Bool("record", false, "record the states of old builds again; it needs git and their commits")

// oldBuilds are the commits whose states are recorded in testdata/upgrade.
var oldBuilds = []string{"afb8d09", "cfd18552"}

// recordDir is where the old builds run while they are recorded, so that no path of a machine is in what they keep. A test that takes a
// state up puts its own path in place of it.
const recordDir = "/tmp/clawhost-fixture"

// upgradeRecord says what the network and the people know of a recorded state.
type upgradeRecord struct {
	Commit   string
	At       int64           // when it was recorded, in milliseconds since 1970
	Events   []ExchangeEvent // what people had written
	Taken    int             // how many of the events the plugin had acknowledged
	Sent     []ExchangeSent
	Question string // the id of the open question
	Code     string // of the open pairing request
}

// upgradeConfig is the config of the old builds and of the new one.
func upgradeConfig(dir, bin, exchange string) string {
	return fmt.Sprintf(`
state_dir  = %[1]q
plugin_dir = %[2]q
log { level = "debug" }
agent { workspace = %[3]q }
claude {
  command       = %[4]q
  max_processes = 16
  env           = { CLAUDE_STUB_DELAY_MS = "30" }
}
inbound { debounce = "0" }
queue { mode = "queue" }
reply { stream = "off" }
access {
  owners = ["exchange:ann", "exchange:quinn"]
  dm     = "pairing"
  allow  = ["exchange:ben", "exchange:gone", "exchange:later", "exchange:lost", "exchange:slow",
            "exchange:load0", "exchange:load1", "exchange:load2", "exchange:load3"]
  group "team" { require_mention = false }
  group "club" {}
}
plugin "exchange" {
  config { exchange = %[5]q }
}
`, filepath.Join(dir, "state"), bin, filepath.Join(dir, "work"), filepath.Join(bin, "claude-stub"), exchange)
}

// TestRecordUpgrade builds old commits, has each work until it is killed under load, and records what it left:
// go test ./core -run TestRecordUpgrade -record. It also has the builds go back.
func TestRecordUpgrade(t *testing.T) {
	if !*record {
		t.Skip("it records only with -record")
	}
	for _, commit := range oldBuilds {
		t.Run(commit, func(t *testing.T) { recordOld(t, commit, buildOld(t, commit)) })
	}
}

// buildOld builds a commit, with the channel of today.
func buildOld(t *testing.T, commit string) (bin string) {
	t.Helper()
	tree, bin := filepath.Join(t.TempDir(), "tree"), t.TempDir()
	run := func(dir, name string, args ...string) {
		t.Helper()
		command := exec.Command(name, args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	run("", "git", "worktree", "add", "--detach", tree, commit)
	t.Cleanup(func() { run("", "git", "worktree", "remove", "--force", tree) })
	plugin, err := os.ReadFile(filepath.Join("testdata", "exchange", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(tree, "core", "testdata", "exchange"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "core", "testdata", "exchange", "main.go"), plugin, 0o600); err != nil {
		t.Fatal(err)
	}
	run(tree, "go", "build", "-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w", "-o", bin+"/", "./core/cmd/clawhost", "./core/cmd/claude-stub", "./core/testdata/exchange")
	if err := os.Rename(filepath.Join(bin, "exchange"), filepath.Join(bin, "clawhost-exchange")); err != nil {
		t.Fatal(err)
	}
	return bin
}

func recordOld(t *testing.T, commit, bin string) {
	if err := os.Mkdir(recordDir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(recordDir) })
	var failing atomic.Bool
	x := newExchange(t, func(s ExchangeSent) string {
		switch {
		case s.Chat == "gone":
			return "forbidden"
		case s.Chat == "later" && failing.Load():
			return "absent"
		case s.Chat == "lost" && failing.Load():
			return "lost"
		}
		return ""
	})
	w := &crashWorld{bin: bin, dir: recordDir}
	if err := os.WriteFile(filepath.Join(recordDir, "config.hcl"), []byte(upgradeConfig(recordDir, bin, x.address)), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.log, err = os.Create(filepath.Join(t.TempDir(), "log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			w.showLog(t)
		}
		_ = w.log.Close()
	})
	w.start(t, "")
	t.Cleanup(func() {
		_ = w.host.Process.Kill()
		<-w.gone
	})

	r := upgradeRecord{Commit: commit}
	liveBeforeUpgrade(t, x, &r)
	w.end(t) // so that most of it is in the database's file, and the log has what follows
	failing.Store(true)
	w.start(t, "")
	loadBeforeUpgrade(t, x, &r)
	children := append(childrenOf(w.host.Process.Pid, "clawhost-exchange"), childrenOf(w.host.Process.Pid, "claude-stub")...)
	if err := w.host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-w.gone
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended with the host
	}
	r.Events, r.Taken, r.Sent = x.now()
	r.At = time.Now().UnixMilli()
	described, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(recordDir, "record.json"), described, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config.hcl", "done"} {
		if err := os.Remove(filepath.Join(recordDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	archive := pack(t, recordDir)
	if err := os.WriteFile(filepath.Join("testdata", "upgrade", commit+".tar.gz"), archive, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("recorded %d bytes: %d events, %d messages", len(archive), len(r.Events), len(r.Sent))

	// The old build refuses the database that the new one has migrated, and changes nothing. It goes on from the backup.
	u := unpackUpgrade(t, commit)
	u.start(t, "")
	u.exchange.hears(t, "slow", "m-slow-3-")
	u.end(t)
	before := storetest.Rows(t, u.database())
	old := exec.Command(filepath.Join(bin, "clawhost"), "-config", filepath.Join(u.dir, "config.hcl"))
	out, err := old.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "newer clawhost") {
		t.Errorf("the old build said %v, %s", err, out)
	}
	compareRows(t, before, storetest.Rows(t, u.database()), nil)

	u = unpackUpgrade(t, commit)
	u.goBack(t)
	config := upgradeConfig(u.dir, bin, u.exchange.address)
	if err := os.WriteFile(filepath.Join(u.dir, "config.hcl"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	u.bin = bin
	u.start(t, "")
	u.exchange.await(t, "the old build answers again", func(all []ExchangeSent) bool {
		times := 0
		for _, s := range all {
			if strings.Contains(s.Text, "m-slow-3-") {
				times++
			}
		}
		return times == 2
	})
	u.bin = crashBinaries(t)
	u.run(t, "backup", filepath.Join(u.dir, "running.tar.gz")) // of the old build's state, while that runs
	u.run(t, "backup", "-verify", filepath.Join(u.dir, "running.tar.gz"))
	u.end(t)
}

// ask is a use of a tool for which Claude asks.
func ask(token, command string) string {
	return fmt.Sprintf(`[[stub {"tool": %q, "ask": true, "again": true, "crash": "orphaned", "answer": "%s done"}]] do it`, command, token)
}

// liveBeforeUpgrade is what happens before the load: all of it is answered.
func liveBeforeUpgrade(t *testing.T, x *Exchange, r *upgradeRecord) {
	x.direct("ann", "m-ann-1- the word is heron")
	x.hears(t, "ann", "m-ann-1-")
	x.direct("ann", ask("m-ann-2-", "echo ann >> $HOME/done"))
	id := questionID.FindStringSubmatch(x.hears(t, "ann", "/answer ").Text)
	x.direct("ann", "/answer "+id[1]+" always")
	x.hears(t, "ann", "m-ann-2-")
	x.say(ExchangeEvent{Chat: "ann", Sender: "ann", Text: "m-ann-3- look at this", File: "the content of a file\n"})
	x.hears(t, "ann", "m-ann-3-")
	x.direct("ann", "/model opus")
	x.hears(t, "ann", "opus")
	x.direct("ben", "m-ben-1- before")
	x.hears(t, "ben", "m-ben-1-")
	x.direct("ben", "/new m-ben-2- after")
	x.hears(t, "ben", "m-ben-2-")
	x.say(ExchangeEvent{Chat: "team", Sender: "ben", Text: "m-team-1- in the team"})
	x.hears(t, "team", "m-team-1-")
	x.say(ExchangeEvent{Chat: "team", Thread: "t1", Sender: "ann", Text: "m-team-2- in a thread"})
	x.hears(t, "team", "m-team-2-")
	x.say(ExchangeEvent{Chat: "club", Sender: "ben", Text: "nobody asked the agent"})
	x.direct("gone", "m-gone-1- who blocks the bot")
	x.hears(t, "gone", "m-gone-1-")
	code := func(who string) string {
		x.direct(who, "let me in")
		found := pairingCode.FindString(x.hears(t, who, "").Text)
		if found == "" {
			t.Fatalf("%s got no code", who)
		}
		return found
	}
	r.Code = code("sid")
	x.direct("ann", "/approve "+code("tia"))
	x.await(t, "tia is let in", func(all []ExchangeSent) bool { return len(sentTo(all, "tia")) > 1 })
	x.direct("tia", "m-tia-1- thank you")
	x.hears(t, "tia", "m-tia-1-")
}

// loadBeforeUpgrade leaves messages in every state.
func loadBeforeUpgrade(t *testing.T, x *Exchange, r *upgradeRecord) {
	x.direct("quinn", ask("m-quinn-1-", "echo quinn >> $HOME/done"))
	r.Question = questionID.FindStringSubmatch(x.hears(t, "quinn", "/answer ").Text)[1]
	x.direct("quinn", "m-quinn-2- behind the question")
	x.direct("lost", "m-lost-1- the outcome of whose answer is not known")
	x.direct("lost", "m-lost-2- whose answer waits behind it")
	x.direct("later", "m-later-1- whose answer the network does not take yet")
	x.direct("slow", `[[stub {"tool": "echo begun >> $HOME/done; sleep 30", "answer": "m-slow-1- done"}]] take your time`)
	x.say(ExchangeEvent{Chat: "slow", Sender: "slow", Text: "m-slow-2- with a file", File: "a file that waits\n"})
	x.direct("slow", "m-slow-3- the last")
	x.hears(t, "lost", "m-lost-1-")
	x.hears(t, "later", "m-later-1-")
	written := map[string]int{}
	write := func(chat string) {
		written[chat]++
		x.direct(chat, fmt.Sprintf("m-%s-%d- under load", chat, written[chat]))
	}
	chats := []string{"load0", "load1", "load2", "load3"}
	for _, chat := range chats {
		for range 4 {
			write(chat)
		}
	}
	for n := 1; n <= 4; n++ {
		for _, chat := range chats {
			x.hears(t, chat, fmt.Sprintf("m-%s-%d-", chat, n))
			write(chat)
			write(chat)
		}
	}
	x.await(t, "the tool of slow", func([]ExchangeSent) bool {
		done, _ := os.ReadFile(filepath.Join(recordDir, "done"))
		return bytes.Contains(done, []byte("begun"))
	})
}

func sentTo(all []ExchangeSent, chat string) (list []ExchangeSent) {
	for _, s := range all {
		if s.Chat == chat {
			list = append(list, s)
		}
	}
	return list
}

// pack makes an archive of the regular files of a folder.
func pack(t *testing.T, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(compressed)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(path, "-shm") { // which SQLite makes of the log
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, "-wal") {
			name, content = name+sortedSuffix, sortFrames(content)
		}
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	if err := errors.Join(err, archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// unpack puts the files of an archive into a folder. What they say of the folder in which they were recorded says that folder instead.
func unpack(t *testing.T, path, dir string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	compressed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	slug := strings.NewReplacer("/", "-", ".", "-")
	here := strings.NewReplacer(recordDir, dir, slug.Replace(recordDir), slug.Replace(dir))
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		name, sorted := strings.CutSuffix(header.Name, sortedSuffix)
		if sorted {
			content = unsortFrames(content)
		}
		target := filepath.Join(dir, here.Replace(name))
		if !strings.HasPrefix(header.Name, "state/") {
			content = []byte(here.Replace(string(content)))
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// sortedSuffix ends the name of a log of SQLite whose frames are in the order of their pages, so that the versions of a page stand
// together, which makes the archive a tenth as large.
const sortedSuffix = ".sorted"

// A log has a header with the size of a page, and frames: a header, which begins with the page's number, and the page.
const logHeader, frameHeader = 32, 24

func frameSize(log []byte) int { return frameHeader + int(binary.BigEndian.Uint32(log[8:])) }

// sortFrames returns the header of a log and its frames in the order of their pages, each behind its own number.
func sortFrames(log []byte) []byte {
	if len(log) < logHeader {
		return log
	}
	var frames [][]byte
	for frame := range slices.Chunk(log[logHeader:], frameSize(log)) {
		frames = append(frames, append(binary.BigEndian.AppendUint32(nil, uint32(len(frames))), frame...))
	}
	slices.SortStableFunc(frames, func(a, b []byte) int { return bytes.Compare(a[4:8], b[4:8]) })
	return append(slices.Clone(log[:logHeader]), bytes.Join(frames, nil)...)
}

// unsortFrames undoes sortFrames.
func unsortFrames(sorted []byte) []byte {
	if len(sorted) < logHeader {
		return sorted
	}
	frames := slices.Collect(slices.Chunk(sorted[logHeader:], 4+frameSize(sorted)))
	slices.SortFunc(frames, func(a, b []byte) int { return bytes.Compare(a[:4], b[:4]) })
	log := slices.Clone(sorted[:logHeader])
	for _, frame := range frames {
		log = append(log, frame[4:]...)
	}
	return log
}

// A log that is sorted is whole again.
func TestSortFrames(t *testing.T) {
	t.Parallel()
	log := make([]byte, logHeader)
	binary.BigEndian.PutUint32(log[8:], 512)
	for n, page := range []byte{3, 1, 3, 2, 1} {
		frame := bytes.Repeat([]byte{byte(n)}, frameHeader+512)
		copy(frame, []byte{0, 0, 0, page})
		log = append(log, frame...)
	}
	sorted := sortFrames(log)
	if at := logHeader + 4; bytes.Equal(sorted, log) || sorted[at+3] != 1 {
		t.Error("the frames are not in the order of their pages")
	}
	if !bytes.Equal(unsortFrames(sorted), log) {
		t.Error("the log has changed")
	}
	if len(unsortFrames(sortFrames(nil))) != 0 {
		t.Error("an empty log has something")
	}
}
