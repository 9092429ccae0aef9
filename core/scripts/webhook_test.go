package scripts_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"
)

// hookSecret begins the secrets of the webhooks of scripts, unless they say otherwise. The name of the hook follows.
const hookSecret = "a secret of the hook "

// hookAddress is what the host's log says of where webhooks are received.
var hookAddress = regexp.MustCompile(`webhooks are received: address=(\S+)`)

// posts is the command of the same name.
func (s *stage) posts(ts *testscript.TestScript, neg bool, args []string) error {
	flags := flag.NewFlagSet("posts", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	plain := flags.Bool("plain", false, "")
	id := flags.String("id", uuid.NewString(), "")
	event := flags.String("event", "issues", "")
	secret := flags.String("secret", "", "")
	byHost := flags.Bool("host", false, "")
	if err := flags.Parse(args); err != nil || neg || flags.NArg() != 3 {
		return errors.New("usage: posts [-host] [-plain] [-id ID] [-event EVENT] [-secret SECRET] STATUS HOOK FILE")
	}
	body := []byte(ts.ReadFile(flags.Arg(2)))
	header := http.Header{"Content-Type": {"application/json"}}
	sign := func(of string) []byte {
		mac := hmac.New(sha256.New, []byte(cmp.Or(*secret, hookSecret+flags.Arg(1))))
		mac.Write([]byte(of))
		return mac.Sum(nil)
	}
	if *plain {
		now := strconv.FormatInt(time.Now().Unix(), 10)
		header.Set("Webhook-Id", *id)
		header.Set("Webhook-Timestamp", now)
		header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(sign(*id+"."+now+"."+string(body))))
	} else {
		header.Set("X-Github-Event", *event)
		header.Set("X-Github-Delivery", *id)
		header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sign(string(body))))
	}
	ctx, cancel := s.await()
	defer cancel()
	var status int
	err := poll(ctx, func() (done bool, err error) {
		var place, text string
		if place, err = s.hookPlace(*byHost, ts.Getenv("ADMIN_ADDRESS")); err == nil {
			status, text, err = deliverHook(ctx, place, flags.Arg(1), header, body)
		}
		if err == nil {
			fmt.Fprint(ts.Stdout(), text)
		}
		return err == nil, nil // a sender that got no answer sends again
	})
	if err != nil {
		return fmt.Errorf("nothing answers the webhook: %w", err)
	}
	if strconv.Itoa(status) != flags.Arg(0) {
		return fmt.Errorf("the webhook answers with status %d, want %s", status, flags.Arg(0))
	}
	return nil
}

// hookPlace is where webhooks are received: at the host's address, or where the log says.
func (s *stage) hookPlace(byHost bool, admin string) (string, error) {
	if byHost {
		return admin + "/plugins/webhook", nil
	}
	found := hookAddress.FindAllStringSubmatch(s.log.String(), -1)
	if len(found) == 0 {
		return "", errors.New("the log names no address")
	}
	return found[len(found)-1][1], nil
}

// deliverHook sends a request to a webhook once.
func deliverHook(ctx context.Context, place, hook string, header http.Header, body []byte) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+place+"/"+hook, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header, r.Close = header, true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(read), err
}

// killPlugin is the command pluginkill.
func (s *stage) killPlugin(_ *testscript.TestScript, args []string) error {
	if s.host == nil {
		return errNoHost
	}
	ctx, cancel := s.await()
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(s.bin, "clawhost"), "plugin", "list", "-config",
		filepath.Join(s.dir, "config.hcl"), "-json")
	for _, name := range passed {
		command.Env = append(command.Env, name+"=x") // the config's variables must be there
	}
	command.Env = append(command.Env, "HOME="+s.dir)
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("clawhost plugin list: %w", err)
	}
	var list []struct {
		Name string `json:"name"`
		PID  int    `json:"pid"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return fmt.Errorf("clawhost plugin list: %w\n%s", err, out)
	}
	for _, p := range list {
		if p.Name == args[0] && p.PID > 0 {
			return syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("the plugin %s has no process:\n%s", args[0], out)
}
