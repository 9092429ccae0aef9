//go:build e2e

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/plugins/webchat/webchattest"
)

// TestMain is a tool of the agent, too: "probe HOW ADDRESS TOKENFILE RESULT" tries to act as the owner of a web chat.
func TestMain(m *testing.M) {
	if len(os.Args) == 6 && os.Args[1] == "probe" {
		result := probe(os.Args[2], os.Args[3], os.Args[4])
		if err := os.WriteFile(os.Args[5]+".new", []byte(result), 0o600); err != nil {
			panic(err)
		}
		if err := os.Rename(os.Args[5]+".new", os.Args[5]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

func probe(how, address, tokenFile string) string {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return "no token: " + err.Error()
	}
	if how == "hidden" {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return "not hidden: " + err.Error()
		}
	}
	if how == "in-flight" {
		return inFlight(address)
	}
	client := http.Client{Transport: webchattest.New(strings.TrimSpace(string(token)))}
	answer, err := client.Get("http://" + address + "/api/state")
	if err != nil {
		return "refused"
	}
	defer answer.Body.Close()
	return answer.Status
}

// inFlight puts its end of a connection where no process holds it, and takes it back to read what came.
func inFlight(address string) string {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return "no connection: " + err.Error()
	}
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		return err.Error()
	}
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err.Error()
	}
	if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", address); err != nil {
		return "refused"
	}
	if err := syscall.Sendmsg(ends[0], []byte("x"), syscall.UnixRights(int(file.Fd())), nil, 0); err != nil {
		return err.Error()
	}
	if err := errors.Join(file.Close(), conn.Close()); err != nil {
		return err.Error()
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	<-ticker.C // long enough for a host that looks
	oob := make([]byte, 64)
	_, n, _, _, err := syscall.Recvmsg(ends[1], make([]byte, 1), oob, 0)
	if err != nil {
		return err.Error()
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:n])
	if err != nil {
		return err.Error()
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return err.Error()
	}
	if conn, err = net.FileConn(os.NewFile(uintptr(fds[0]), "back")); err != nil {
		return err.Error()
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "refused"
	}
	answer.Body.Close()
	return answer.Status
}

// What the agent starts may read the token, but is not the owner: whatever it does to itself, the web chat takes no connection of
// it. Other programs of the same user are served.
func TestAToolIsNotTheOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("starts the host as another user, which takes root")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const nobody = 65534
	home, err := os.MkdirTemp("", "webchat-tool-") // everybody may enter the folders above it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	binary := filepath.Join(home, "probe")
	copyFile(t, os.Args[0], binary)
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	process, link := startHostAs(ctx, t, home, "127.0.0.1:0", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}})
	address, token, _ := strings.Cut(strings.TrimPrefix(link, "http://"), "/#token=")
	tokenFile := filepath.Join(home, ".local", "state", "clawhost", "plugins", "webchat", "token")
	owner := webchattest.New(token)
	defer owner.Close()

	outside := exec.CommandContext(ctx, binary, "probe", "plain", address, tokenFile, filepath.Join(home, "outside"))
	outside.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	outside.Env = []string{}
	if out, err := outside.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := await(ctx, t, filepath.Join(home, "outside")); got != "200 OK" {
		t.Errorf("another program of the user: %s", got)
	}
	for _, how := range []string{"plain", "hidden", "in-flight"} {
		for _, away := range []bool{false, true} {
			result := filepath.Join(home, fmt.Sprint(how, "-", away))
			command := fmt.Sprintf("%s probe %s %s %s %s", binary, how, address, tokenFile, result)
			if away {
				command = fmt.Sprintf("(setsid env -i %s >/dev/null 2>&1 </dev/null &); until [ -e %s ]; do sleep 0.1; done", command, result)
			}
			orders, err := json.Marshal(map[string]any{"tool": command, "answer": "Done."})
			if err != nil {
				t.Fatal(err)
			}
			order(ctx, t, owner, address, fmt.Sprintf("[[stub %s]] go", orders))
			if got := await(ctx, t, result); got != "refused" {
				t.Errorf("a tool (%s, away: %v): %s", how, away, got)
			}
		}
	}
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("the host ended with %v", err)
	}
}

// order begins a conversation of the web chat.
func order(ctx context.Context, t *testing.T, owner *webchattest.Page, address, text string) {
	t.Helper()
	body := encodeJSON(map[string]any{"id": uuid.NewString(), "conversation": uuid.NewString(), "text": text})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/api/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Transport: owner}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if said, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", answer.Status, said)
	}
}

// await returns what is in a file, once it is there.
func await(ctx context.Context, t *testing.T, path string) string {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		content, err := os.ReadFile(path)
		if err == nil {
			return string(content)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("%v: %v", ctx.Err(), err)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o755); err != nil {
		t.Fatal(err)
	}
}
