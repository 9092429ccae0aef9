package telegramtest

import (
	"context"
	"fmt"
)

// AwaitMessages waits until the messages of a chat, which are those that were not deleted, oldest first, fulfil a condition,
// and returns them. It asks again whenever something changes.
func (s *Server) AwaitMessages(ctx context.Context, chat int64, fulfil func([]Message) bool) ([]Message, error) {
	var messages []Message
	err := s.await(ctx, func() bool {
		messages = s.messagesOf(chat, func(*Message) bool { return true })
		return fulfil(messages)
	})
	if err != nil {
		return messages, fmt.Errorf("the messages of chat %d are others: %w", chat, err)
	}
	return messages, nil
}
