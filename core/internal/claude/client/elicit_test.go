package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// What an MCP server asks people for is asked as it was written, within bounds, and only in turns that ask people. Else the server is told
// that nobody has answered.
// Behaviour: elicit.
func TestElicitation(t *testing.T) {
	t.Parallel()
	accept := agent.Decision{Allow: true, Input: json.RawMessage(`{"a":1}`)}
	for name, tc := range map[string]struct {
		request  string // its fields, without the subtype
		decision agent.Decision
		nobody   bool // no one can be asked
		asked    string
		answer   string
	}{
		"a form": {
			`"mcp_server_name":"shop","message":"Buy?","mode":"form","requested_schema":{"type":"object"}`, accept, false,
			`{"server":"shop","message":"Buy?","schema":{"type":"object"}}`, `{"action":"accept","content":{"a":1}}`,
		},
		"without a mode":         {`"mcp_server_name":"shop","message":"Buy?"`, agent.Decision{Allow: true}, false, `{"server":"shop","message":"Buy?"}`, `{"action":"accept"}`},
		"a link":                 {`"mcp_server_name":"shop","message":"Pay","mode":"url","url":"https://a.example"`, agent.Decision{Declined: true}, false, `{"server":"shop","message":"Pay","url":"https://a.example"}`, `{"action":"decline"}`},
		"no answer":              {`"mcp_server_name":"shop","message":"Buy?"`, agent.Decision{Message: "Nobody answered in time."}, false, `{"server":"shop","message":"Buy?"}`, `{"action":"cancel"}`},
		"an answer of no object": {`"mcp_server_name":"shop","message":"Buy?"`, agent.Decision{Allow: true, Input: json.RawMessage(`[1]`)}, false, `{"server":"shop","message":"Buy?"}`, `{"action":"cancel"}`},
		"nobody to ask":          {`"mcp_server_name":"shop","message":"Buy?"`, accept, true, "", `{"action":"cancel"}`},
		"no server":              {`"message":"Buy?"`, accept, false, "", `{"action":"cancel"}`},
		"a long name":            {`"mcp_server_name":"` + strings.Repeat("x", maxServer+1) + `","message":"Buy?"`, accept, false, "", `{"action":"cancel"}`},
		"no message":             {`"mcp_server_name":"shop"`, accept, false, "", `{"action":"cancel"}`},
		"a large message":        {`"mcp_server_name":"shop","message":"` + strings.Repeat("x", maxSchema) + `"`, accept, false, "", `{"action":"cancel"}`},
		"a large form":           {`"mcp_server_name":"shop","message":"Buy?","requested_schema":{"a":"` + strings.Repeat("x", maxSchema) + `"}`, accept, false, "", `{"action":"cancel"}`},
		"a form of no object":    {`"mcp_server_name":"shop","message":"Buy?","requested_schema":[]`, accept, false, "", `{"action":"cancel"}`},
		"an unknown mode":        {`"mcp_server_name":"shop","message":"Buy?","mode":"voice"`, accept, false, "", `{"action":"cancel"}`},
		"a link in a form":       {`"mcp_server_name":"shop","message":"Buy?","mode":"form","url":"https://a.example"`, accept, false, "", `{"action":"cancel"}`},
		"no link":                {`"mcp_server_name":"shop","message":"Pay","mode":"url"`, accept, false, "", `{"action":"cancel"}`},
		"a long link":            {`"mcp_server_name":"shop","message":"Pay","mode":"url","url":"https://` + strings.Repeat("x", maxLink) + `"`, accept, false, "", `{"action":"cancel"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan agent.Question, 1)
			turn := agent.Turn{Session: "s", UUID: "m", Asker: askFunc(func(_ context.Context, q agent.Question) agent.Decision {
				asked <- q
				return tc.decision
			})}
			if tc.nobody {
				turn.Asker = nil
			}
			s := newUnstarted(t, turn)
			s.line(t, fmt.Appendf(nil, `{"type":"control_request","request_id":"r","request":{"subtype":"elicitation",%s}}`, tc.request))
			if got := s.replied(t).Response; got.RequestID != "r" || string(got.Response) != tc.answer {
				t.Errorf("answered %+v %s, want %s", got, got.Response, tc.answer)
			}
			if tc.asked == "" && len(asked) > 0 {
				t.Errorf("asked %+v", <-asked)
			}
			if tc.asked != "" {
				if q := <-asked; q.Elicits == nil || string(q.Input) != tc.asked || q.Tool != "" {
					t.Errorf("asked %s of %q, want %s", q.Input, q.Tool, tc.asked)
				}
			}
		})
	}
}

// A server that asks again and again gets no more answers of people in the turn, and some in the next one.
// Behaviour: elicit.
func TestServerThatAsksInALoop(t *testing.T) {
	t.Parallel()
	turn := agent.Turn{Session: "s", UUID: "m", Asker: askFunc(func(context.Context, agent.Question) agent.Decision { return agent.Decision{Declined: true} })}
	s := newUnstarted(t, turn)
	asked := func(times int) (declined int) {
		t.Helper()
		for i := range times {
			s.line(t, fmt.Appendf(nil, `{"type":"control_request","request_id":"r%d","request":{"subtype":"elicitation","mcp_server_name":"shop","message":"Buy?"}}`, i))
			if string(s.replied(t).Response.Response) == `{"action":"decline"}` {
				declined++
			}
		}
		return declined
	}
	if n := asked(2 * maxForms); n != maxForms {
		t.Errorf("people were asked %d times, want %d", n, maxForms)
	}
	s.Dismiss()
	s.Attend(t.Context(), turn)
	if n := asked(1); n != 1 {
		t.Error("in the next turn nobody is asked")
	}
}
