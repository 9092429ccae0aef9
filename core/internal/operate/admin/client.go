package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// ErrNotRunning is returned when no host listens on the socket.
var ErrNotRunning = errors.New("no host is running")

// ErrNoAnswer is returned when the host closes the connection without a response, as it does with the agent's own
// processes.
var ErrNoAnswer = errors.New("the host did not answer: it refuses processes that the agent has started, or is shutting down")

// ErrOtherUser is returned when the host runs as another user.
var ErrOtherUser = errors.New("the host of this config is another user's")

// Client talks to a running host.
type Client struct {
	socket string
	http   http.Client
}

// NewClient returns a client of the host whose control socket has this path. It connects at the first call.
func NewClient(path string) *Client {
	return &Client{socket: path, http: http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}},
	}}
}

// Status returns a summary of the host.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return call[Status](ctx, c, http.MethodGet, "/v1/status", nil)
}

// Plugins lists the plugins.
func (c *Client) Plugins(ctx context.Context) ([]Plugin, error) {
	return call[[]Plugin](ctx, c, http.MethodGet, "/v1/plugins", nil)
}

// Links lists the links of the plugins that have one.
func (c *Client) Links(ctx context.Context) ([]Link, error) {
	return call[[]Link](ctx, c, http.MethodGet, "/v1/links", nil)
}

// RestartPlugin restarts a plugin, even a failed one.
func (c *Client) RestartPlugin(ctx context.Context, name string) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, "/v1/plugins/restart", url.Values{"name": {name}})
	return err
}

// Queue returns what waits and what runs.
func (c *Client) Queue(ctx context.Context) (Queue, error) {
	return call[Queue](ctx, c, http.MethodGet, "/v1/queue", nil)
}

// Dead lists the dead letters.
func (c *Client) Dead(ctx context.Context) ([]DeadLetter, error) {
	return call[[]DeadLetter](ctx, c, http.MethodGet, "/v1/queue/dead", nil)
}

// RetryDead requeues the dead letter with the id, or all of them if it is zero, and returns their number.
func (c *Client) RetryDead(ctx context.Context, id int64) (int, error) {
	return call[int](ctx, c, http.MethodPost, "/v1/queue/retry", named(id))
}

// DropDead deletes the dead letter with the id, or all of them if it is zero, and returns their number.
func (c *Client) DropDead(ctx context.Context, id int64) (int, error) {
	return call[int](ctx, c, http.MethodPost, "/v1/queue/drop", named(id))
}

func named(id int64) url.Values {
	if id == 0 {
		return nil
	}
	return url.Values{"id": {strconv.FormatInt(id, 10)}}
}

// Sessions lists up to 1,000 sessions with keys after the given one.
func (c *Client) Sessions(ctx context.Context, after string) ([]Session, error) {
	return call[[]Session](ctx, c, http.MethodGet, "/v1/sessions", url.Values{"after": {after}})
}

// Transcript returns up to 1,000 entries of a session with ids below before (zero: the newest), oldest first.
func (c *Client) Transcript(ctx context.Context, session string, before int64) ([]domain.Entry, error) {
	query := url.Values{"session": {session}}
	if before > 0 {
		query.Set("before", strconv.FormatInt(before, 10))
	}
	return call[[]domain.Entry](ctx, c, http.MethodGet, "/v1/transcript", query)
}

// ToolUses returns the recorded uses of plugins' tools in a session, oldest first.
func (c *Client) ToolUses(ctx context.Context, session string) ([]domain.ToolUse, error) {
	return call[[]domain.ToolUse](ctx, c, http.MethodGet, "/v1/tools", url.Values{"session": {session}})
}

// Pairings lists the pairing requests.
func (c *Client) Pairings(ctx context.Context) ([]domain.Pairing, error) {
	return call[[]domain.Pairing](ctx, c, http.MethodGet, "/v1/pairings", nil)
}

// ApprovePairing approves a pairing request. An empty channel means the one that the code belongs to.
func (c *Client) ApprovePairing(ctx context.Context, channel, code string) (domain.Pairing, error) {
	return call[domain.Pairing](ctx, c, http.MethodPost, "/v1/pairings/approve", url.Values{"channel": {channel}, "code": {code}})
}

// RejectPairing deletes a pairing request.
func (c *Client) RejectPairing(ctx context.Context, channel, code string) (domain.Pairing, error) {
	return call[domain.Pairing](ctx, c, http.MethodPost, "/v1/pairings/reject", url.Values{"channel": {channel}, "code": {code}})
}

// Questions lists the open questions.
func (c *Client) Questions(ctx context.Context) ([]OpenQuestion, error) {
	return call[[]OpenQuestion](ctx, c, http.MethodGet, "/v1/questions", nil)
}

// AnswerQuestion answers an open question, as the state page does. The first answer counts: the error says if there is one.
func (c *Client) AnswerQuestion(ctx context.Context, id, answer string) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, "/v1/questions/answer", url.Values{"id": {id}, "answer": {answer}})
	return err
}

func call[T any](ctx context.Context, c *Client, method, path string, query url.Values) (T, error) {
	var value T
	request, err := http.NewRequestWithContext(ctx, method, "http://clawhost"+path+"?"+query.Encode(), nil)
	if err != nil {
		return value, fmt.Errorf("ask the host: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return value, c.unanswered(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return value, refusal(response)
	}
	if err := json.NewDecoder(response.Body).Decode(&value); err != nil {
		return value, fmt.Errorf("read the host's answer: %w", err)
	}
	return value, nil
}

// stream returns the body of a response that comes bit by bit, for longer than the client's timeout. Ctx ends it.
func (c *Client) stream(ctx context.Context, method, path string, header http.Header, body io.Reader) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://clawhost"+path, body)
	if err != nil {
		return nil, fmt.Errorf("ask the host: %w", err)
	}
	maps.Copy(request.Header, header)
	response, err := (&http.Client{Transport: c.http.Transport}).Do(request)
	if err != nil {
		return nil, c.unanswered(err)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, refusal(response)
	}
	return response.Body, nil
}

// closedAtOnce is net/http's unexported error for a connection that was closed before the request was written.
const closedAtOnce = "server closed idle connection"

// unanswered explains why there is no response.
func (c *Client) unanswered(err error) error {
	owner, other := ownerOf(c.socket)
	switch {
	case other && !errors.Is(err, context.Canceled):
		return fmt.Errorf("%w, %s: try `sudo -u %s clawhost …` (control socket %s)", ErrOtherUser, owner, owner, c.socket)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w for user %s with this config (control socket %s): start it, or run this as the host's user",
			ErrNotRunning, nameOf(os.Getuid()), c.socket)
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		strings.Contains(err.Error(), closedAtOnce):
		return ErrNoAnswer
	default:
		return fmt.Errorf("ask the host: %w", err)
	}
}

// ownerOf returns the owner of the control socket, or of the folder that hides it, and whether that is another user.
func ownerOf(socket string) (owner string, other bool) {
	for path := socket; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrPermission) && path != filepath.Dir(path) {
			continue
		}
		if err != nil {
			return "", false
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return "", false
		}
		return nameOf(int(stat.Uid)), int(stat.Uid) != os.Getuid()
	}
}

// nameOf returns a user's name, or the number for an unknown one.
func nameOf(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// refusal is the error in a response.
func refusal(response *http.Response) error {
	var p problem
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil {
		return fmt.Errorf("ask the host: %s", response.Status)
	}
	return errors.New(p.Error)
}
