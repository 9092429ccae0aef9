package credential

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// keyring records which keys are suspended.
type keyring struct {
	log hclog.Logger

	mu   sync.Mutex
	keys []*key
}

// key is one of the keys. Its mutable fields are guarded by the keyring.
type key struct {
	number int // from 1, for the log
	value  string
	last   verdict
}

func newKeyring(values []string, log hclog.Logger) *keyring {
	r := &keyring{log: log}
	for i, value := range values {
		r.keys = append(r.keys, &key{number: i + 1, value: value})
	}
	return r
}

// order returns the keys to try: those that are not suspended, in the configured order, so that mostly the same account is
// used, which has the conversation cached. If all are suspended it returns all of them, because one may be usable early.
func (r *keyring) order() []*key {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	awake := slices.DeleteFunc(slices.Clone(r.keys), func(k *key) bool { return k.last.until.After(now) })
	if len(awake) > 0 {
		return awake
	}
	return slices.SortedStableFunc(slices.Values(r.keys), func(a, b *key) int { return a.last.compare(b.last) })
}

// tell records what a response says about a key. A change is logged.
func (r *keyring) tell(k *key, v verdict, status int) {
	if v.why == accepted && status >= http.StatusBadRequest {
		return // it failed for another reason
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := k.last
	k.last = v
	switch {
	case v.why == before.why:
	case v.why == accepted:
		r.log.Info("an API key works again", "key", k.number)
	default:
		r.log.Warn("an API key was refused and is suspended", "key", k.number, "of", len(r.keys), "cause", v.why, "status", status,
			"until", v.until.Format(time.RFC3339))
	}
}
