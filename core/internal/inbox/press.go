package inbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// press turns a press on a button of the agent's into a message. The data of a press can be forged: it counts only if
// it names a message that the agent has sent to the conversation in which it is pressed.
func (in *Inbox) press(ctx context.Context, a *arrival) error {
	body, ok := a.event.Body.(chat.ButtonPress)
	if !ok {
		return nil
	}
	data, ok := strings.CutPrefix(body.Data, domain.PressData)
	if !ok {
		return nil
	}
	token, index, _ := strings.Cut(data, ":")
	m, err := in.store.AgentMessageByToken(ctx, token)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return fmt.Errorf("look up a button: %w", err)
	}
	n, wrong := strconv.Atoi(index)
	if err != nil || wrong != nil || n < 0 || n >= len(m.Labels) || m.Session != a.key {
		return nil
	}
	a.message.Text, a.message.Pressed = m.Labels[n], &domain.Press{Number: m.Number}
	return nil
}
