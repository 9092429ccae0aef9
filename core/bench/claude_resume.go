package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// resume measures how long the real CLI takes to resume conversations of several lengths.
func (b *bench) resume(ctx context.Context) error {
	const recorded, repeats = 10, 5
	if b.cli == "" {
		line("not measured", "there is no claude CLI here")
		return nil
	}
	r, err := newClaudeRig(b.cli, nil)
	if err != nil {
		return err
	}
	err = func() error {
		source, err := r.converse(ctx, recorded)
		if err != nil {
			return err
		}
		for _, turns := range []int{recorded, 100, 1000} {
			session := uuid.NewString()
			path, err := r.lengthen(source, session, turns/recorded)
			if err != nil {
				return err
			}
			if err := r.resumed(ctx, path, session, turns, repeats); err != nil {
				return fmt.Errorf("%d turns: %w", turns, err)
			}
		}
		return nil
	}()
	return errors.Join(err, r.remove())
}

// converse has a conversation of some turns, each with a tool, and returns its session.
func (r *claudeRig) converse(ctx context.Context, turns int) (session string, err error) {
	session = uuid.NewString()
	if err := r.open(); err != nil {
		return "", err
	}
	for i := range turns {
		r.api.Enqueue(messagesapi.Bash("seq 200"), messagesapi.Reply{Text: strings.Repeat("These are the first numbers. ", 30)})
		if _, err := r.say(ctx, session, i > 0, "Count, please. "+strings.Repeat("And be quick. ", 10)); err != nil {
			return "", errors.Join(err, r.close())
		}
	}
	return session, r.close()
}

// resumed measures the resumption of a session.
func (r *claudeRig) resumed(ctx context.Context, path, session string, turns, repeats int) error {
	var took, used, first, cold []time.Duration
	var held []memory
	for range repeats {
		if err := r.open(); err != nil {
			return err
		}
		at := time.Now()
		_, err := r.say(ctx, session, true, "hello again")
		if err := errors.Join(err, r.close()); err != nil {
			return err
		}
		asked := r.api.Messages()
		cold = append(cold, asked[len(asked)-1].At.Sub(at))
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	for range repeats {
		if err := r.open(); err != nil {
			return err
		}
		err := func() error {
			pid, d, err := r.start(ctx, session, true)
			if err != nil {
				return err
			}
			work, err := cpu(pid)
			if err != nil {
				return err
			}
			m, err := memoryOf(pid)
			if err != nil {
				return err
			}
			answered, err := r.say(ctx, session, true, "hello again")
			took, used, held, first = append(took, d), append(used, work), append(held, m), append(first, answered)
			return err
		}()
		if err := errors.Join(err, r.close()); err != nil {
			return err
		}
	}
	rss, _ := medians(held)
	asked := r.api.Messages()
	messages := len(asked[len(asked)-1].Prompt.Messages)
	line(fmt.Sprintf("%d turns (%d KB)", turns, info.Size()>>10), fmt.Sprintf(
		"ready in %s ms, with %s ms of CPU and %d MB; then a turn takes %s ms, for %d messages; a message that has to wait for that is asked after %s ms",
		whole(median(took)), whole(median(used)), rss>>10, whole(median(first)), messages, whole(median(cold))))
	return nil
}

// lengthen writes the transcript of a session that consists of all turns of another one, several times, each time with new ids. The form
// is that of the CLI 2.1.331: one entry a line, each with the id of the one before it.
func (r *claudeRig) lengthen(source, session string, times int) (path string, err error) {
	if path, err = r.transcript(source); err != nil {
		return "", err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	var last any
	for round := range times {
		ids := map[any]string{}
		for line := range strings.Lines(string(data)) {
			var entry map[string]any
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				return "", err
			}
			if entry["sessionId"] != nil {
				entry["sessionId"] = session
			}
			if entry["uuid"] == nil && round > 0 {
				continue
			}
			if id := entry["uuid"]; id != nil {
				ids[id] = uuid.NewString()
				parent, known := ids[entry["parentUuid"]]
				if entry["uuid"] = ids[id]; known {
					entry["parentUuid"] = parent
				} else {
					entry["parentUuid"] = last
				}
				last = entry["uuid"]
			}
			if message, ok := entry["message"].(map[string]any); ok && message["id"] != nil {
				message = maps.Clone(message)
				message["id"] = fmt.Sprintf("%s_%d", message["id"], round)
				entry["message"] = message
			}
			written, err := json.Marshal(entry)
			if err != nil {
				return "", err
			}
			text.Write(written)
			text.WriteByte('\n')
		}
	}
	path = strings.Replace(path, source, session, 1)
	return path, os.WriteFile(path, []byte(text.String()), 0o600)
}
