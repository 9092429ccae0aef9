package exchange

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// How a failed result is classified: by its most reliable sign.
// Behaviour: recovery-rejected.
func TestClassOfAFailure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		result string
		want   agent.Class
	}{
		"a bad request":               {`"api_error_status":400,"result":"API Error: 400 orphaned tool_result in conversation history."`, agent.Rejected},
		"a bad request without words": {`"api_error_status":400`, agent.Rejected},
		"a bad image":                 {`"terminal_reason":"image_error","result":"Image was too large"`, agent.Rejected},
		"a long one":                  {`"api_error_status":400,"result":"Prompt is too long"`, agent.ContextOverflow},
		"a long one by its reason":    {`"api_error_status":400,"terminal_reason":"prompt_too_long"`, agent.ContextOverflow},
		"content":                     {`"api_error_status":400,"result":"API Error: 400 Output blocked by content filtering policy"`, agent.ContentFilter},
		"too large":                   {`"api_error_status":413,"terminal_reason":"image_error"`, agent.ContextOverflow},
		"no key":                      {`"api_error_status":401`, agent.Auth},
		"no credit":                   {`"api_error_status":402`, agent.Billing},
		"no model":                    {`"api_error_status":404`, agent.Model},
		"a limit":                     {`"api_error_status":429`, agent.RateLimit},
		"overloaded":                  {`"api_error_status":529`, agent.Overloaded},
		"the service":                 {`"api_error_status":502`, agent.Server},
		"nothing known":               {`"result":"well"`, agent.Unknown},
	} {
		e, err := protocol.Parse([]byte(`{"type":"result","subtype":"success","is_error":true,"user_message_uuids":["m"],` + test.result + `}`))
		if err != nil {
			t.Fatal(err)
		}
		x := New("m")
		x.Observe(e)
		if got := x.Failure(); got == nil || got.Class != test.want {
			t.Errorf("%s: %+v, want %v", name, got, test.want)
		}
	}
}
