package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// TestLog checks how the host receives an author's log records: levels, and fields as people read them.
func TestLog(t *testing.T) {
	t.Parallel()
	var missing *netip.Addr
	for _, tt := range []struct {
		name string
		log  func(*slog.Logger)
		want map[string]any
	}{
		{"levels", func(log *slog.Logger) { log.Debug("x") }, map[string]any{"@level": "debug"}},
		{"between levels", func(log *slog.Logger) { log.Log(t.Context(), slog.LevelWarn+1, "x") }, map[string]any{"@level": "warn"}},
		{"numbers", func(log *slog.Logger) { log.Info("x", "n", 7, "yes", true) }, map[string]any{"@level": "info", "n": 7.0, "yes": true}},
		{"a duration", func(log *slog.Logger) { log.Info("x", "wait", 1500*time.Millisecond) }, map[string]any{"wait": "1.5s"}},
		{"a long duration", func(log *slog.Logger) { log.Info("x", "wait", 9496858871*time.Nanosecond) }, map[string]any{"wait": "9.497s"}},
		{"a short duration", func(log *slog.Logger) { log.Info("x", "wait", 1234567*time.Nanosecond) }, map[string]any{"wait": "1.234567ms"}},
		{"a duration of the config", func(log *slog.Logger) { log.Info("x", "wait", sdk.Duration{Duration: time.Minute}) }, map[string]any{"wait": "1m0s"}},
		{"bytes", func(log *slog.Logger) { log.Info("x", "body", []byte("not \xff found")) }, map[string]any{"body": "not \ufffd found"}},
		{"an error", func(log *slog.Logger) { log.Error("x", "error", errors.New("no route")) }, map[string]any{"@level": "error", "error": "no route"}},
		{"an enum", func(log *slog.Logger) { log.Info("x", "kind", chat.Group) }, map[string]any{"kind": "group"}},
		{"a time", func(log *slog.Logger) { log.Info("x", "at", time.Unix(0, 0).UTC()) }, map[string]any{"at": "1970-01-01T00:00:00Z"}},
		{"nil", func(log *slog.Logger) { log.Info("x", "from", missing, "to", nil) }, map[string]any{"from": "<nil>", "to": nil}},
		{"what JSON cannot show", func(log *slog.Logger) { log.Info("x", "f", []chan int{nil}) }, map[string]any{"f": "[<nil>]"}},
		{"a secret", func(log *slog.Logger) { log.Info("x", "key", sdk.NewSecret("hush")) }, map[string]any{"key": "[secret]"}},
		{
			"groups", func(log *slog.Logger) {
				log.With("a", 1).WithGroup("g").With("b", time.Second).Info("x", "c", 3, slog.Group("h", "d", 4), slog.Group("", "e", 5))
			},
			map[string]any{"a": 1.0, "g.b": "1s", "g.c": 3.0, "g.h.d": 4.0, "g.e": 5.0},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := sdktest.New(t, sdk.Service(func(_ context.Context, env sdk.Env, _ struct{}) (struct{}, error) {
				env.Log.Log(t.Context(), slog.LevelDebug-1, "too little")
				tt.log(env.Log)
				return struct{}{}, nil
			}))
			h.Configure(nil)
			var got map[string]any
			if err := json.Unmarshal([]byte(strings.TrimSpace(h.Logs())), &got); err != nil {
				t.Fatalf("the log is not one line of JSON: %v\n%s", err, h.Logs())
			}
			for name, want := range map[string]any{"@message": "x", "@module": "test"} {
				if got[name] != want {
					t.Errorf("%s is %v, want %v", name, got[name], want)
				}
			}
			if at, err := time.Parse("2006-01-02T15:04:05.000000Z07:00", fmt.Sprint(got["@timestamp"])); err != nil || at.Year() < 2000 {
				t.Errorf("@timestamp is %v", got["@timestamp"])
			}
			maps.DeleteFunc(got, func(name string, _ any) bool {
				_, wanted := tt.want[name]
				return !wanted && strings.HasPrefix(name, "@")
			})
			if !maps.Equal(got, tt.want) {
				t.Errorf("the fields are %v, want %v", got, tt.want)
			}
		})
	}
}
