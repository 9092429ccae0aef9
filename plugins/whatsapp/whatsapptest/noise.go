package whatsapptest

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"
	"go.mau.fi/libsignal/ecc"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waCert"
	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/util/keys"
	"google.golang.org/protobuf/proto"
)

// noisePattern names the handshake, as long as a SHA-256 hash.
const noisePattern = "Noise_XX_25519_AESGCM_SHA256\x00\x00\x00\x00"

// maxRead is the longest websocket message that is read, in bytes; a frame's length has 24 bits.
const maxRead = 1<<24 + 3

// handshake is the state of a Noise handshake: the hash of all that was said, the chaining key and the current cipher.
type handshake struct {
	hash, salt []byte
	aead       cipher.AEAD
	counter    uint32
}

func newHandshake(header []byte) (*handshake, error) {
	aead, err := newAEAD([]byte(noisePattern))
	if err != nil {
		return nil, err
	}
	h := &handshake{hash: []byte(noisePattern), salt: []byte(noisePattern), aead: aead}
	h.mix(header)
	return h, nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func nonce(counter uint32) []byte {
	return binary.BigEndian.AppendUint32(make([]byte, 8), counter)
}

func (h *handshake) mix(data []byte) {
	sum := sha256.Sum256(append(append([]byte{}, h.hash...), data...))
	h.hash = sum[:]
}

// derive makes two keys of the chaining key and a secret.
func (h *handshake) derive(secret []byte) (first, second []byte, err error) {
	both, err := hkdf.Key(sha256.New, secret, h.salt, "", 64)
	if err != nil {
		return nil, nil, err
	}
	return both[:32], both[32:], nil
}

// agree goes on to the key that both ends can compute.
func (h *handshake) agree(own *keys.KeyPair, theirs []byte) error {
	secret, err := shared(own, theirs)
	if err != nil {
		return err
	}
	salt, key, err := h.derive(secret)
	if err != nil {
		return err
	}
	h.salt, h.counter = salt, 0
	h.aead, err = newAEAD(key)
	return err
}

// shared is the secret that two keys have in common.
func shared(own *keys.KeyPair, theirs []byte) ([]byte, error) {
	private, err := ecdh.X25519().NewPrivateKey(own.Priv[:])
	if err != nil {
		return nil, err
	}
	public, err := ecdh.X25519().NewPublicKey(theirs)
	if err != nil {
		return nil, err
	}
	return private.ECDH(public)
}

func (h *handshake) seal(plain []byte) []byte {
	sealed := h.aead.Seal(nil, nonce(h.counter), plain, h.hash)
	h.counter++
	h.mix(sealed)
	return sealed
}

func (h *handshake) open(sealed []byte) ([]byte, error) {
	plain, err := h.aead.Open(nil, nonce(h.counter), sealed, h.hash)
	h.counter++
	h.mix(sealed)
	return plain, err
}

// conn is a client's connection. Frames to the client go out one after the other, by a goroutine of their own.
type conn struct {
	ws      *websocket.Conn
	unread  []byte
	reading cipher.AEAD
	readN   uint32
	writing cipher.AEAD
	writeN  uint32

	mu    sync.Mutex
	queue []outgoing
	more  chan struct{} // there is something in the queue
}

// outgoing is a frame to the client, or the end of the connection.
type outgoing struct {
	plain []byte
	after time.Duration // how long the network takes
	end   bool
}

func newConn(ws *websocket.Conn) *conn { return &conn{ws: ws, more: make(chan struct{}, 1)} }

// enqueue puts a frame, or the end, behind what is under way.
func (c *conn) enqueue(o outgoing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, o)
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// drain writes what is enqueued until the connection ends.
func (c *conn) drain(ctx context.Context) {
	for {
		c.mu.Lock()
		var next *outgoing
		if len(c.queue) > 0 {
			next, c.queue = &c.queue[0], c.queue[1:]
		}
		c.mu.Unlock()
		if next == nil {
			select {
			case <-c.more:
				continue
			case <-ctx.Done():
				return
			}
		}
		if next.after > 0 {
			timer := time.NewTimer(next.after)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
		}
		if next.end {
			_ = c.ws.CloseNow()
			return
		}
		sealed := c.writing.Seal(nil, nonce(c.writeN), next.plain, nil)
		c.writeN++
		if c.writeFrame(ctx, sealed) != nil {
			_ = c.ws.CloseNow() // What reads finds out.
			return
		}
	}
}

// fill reads until n bytes are there.
func (c *conn) fill(ctx context.Context, n int) error {
	for len(c.unread) < n {
		_, data, err := c.ws.Read(ctx)
		if err != nil {
			return err
		}
		c.unread = append(c.unread, data...)
	}
	return nil
}

func (c *conn) take(n int) []byte {
	taken := append([]byte{}, c.unread[:n]...)
	c.unread = c.unread[n:]
	return taken
}

func (c *conn) readFrame(ctx context.Context) ([]byte, error) {
	if err := c.fill(ctx, 3); err != nil {
		return nil, err
	}
	n := int(c.unread[0])<<16 | int(c.unread[1])<<8 | int(c.unread[2])
	if err := c.fill(ctx, 3+n); err != nil {
		return nil, err
	}
	return c.take(3 + n)[3:], nil
}

func (c *conn) writeFrame(ctx context.Context, data []byte) error {
	n := len(data)
	return c.ws.Write(ctx, websocket.MessageBinary, append([]byte{byte(n >> 16), byte(n >> 8), byte(n)}, data...))
}

func (c *conn) read(ctx context.Context) (*waBinary.Node, error) {
	frame, err := c.readFrame(ctx)
	if err != nil {
		return nil, err
	}
	plain, err := c.reading.Open(nil, nonce(c.readN), frame, nil)
	if err != nil {
		return nil, fmt.Errorf("decrypt frame: %w", err)
	}
	c.readN++
	if plain, err = waBinary.Unpack(plain); err != nil {
		return nil, err
	}
	return waBinary.Unmarshal(plain)
}

// shake is the server's part of the handshake; it returns what the client says of itself.
func (c *conn) shake(ctx context.Context, root *keys.KeyPair) (*waWa6.ClientPayload, error) {
	if err := c.fill(ctx, 4); err != nil {
		return nil, err
	}
	h, err := newHandshake(c.take(4))
	if err != nil {
		return nil, err
	}
	hello := &waWa6.HandshakeMessage{}
	if err := c.readHandshake(ctx, hello); err != nil {
		return nil, err
	}
	theirs := hello.GetClientHello().GetEphemeral()
	h.mix(theirs)
	ephemeral, static := keys.NewKeyPair(), keys.NewKeyPair()
	h.mix(ephemeral.Pub[:])
	if err := h.agree(ephemeral, theirs); err != nil {
		return nil, err
	}
	sealedStatic := h.seal(static.Pub[:])
	if err := h.agree(static, theirs); err != nil {
		return nil, err
	}
	chain, err := certify(root, static)
	if err != nil {
		return nil, err
	}
	answer, err := proto.Marshal(&waWa6.HandshakeMessage{ServerHello: &waWa6.HandshakeMessage_ServerHello{
		Ephemeral: ephemeral.Pub[:], Static: sealedStatic, Payload: h.seal(chain),
	}})
	if err != nil {
		return nil, err
	}
	if err := c.writeFrame(ctx, answer); err != nil {
		return nil, err
	}
	finish := &waWa6.HandshakeMessage{}
	if err := c.readHandshake(ctx, finish); err != nil {
		return nil, err
	}
	clientStatic, err := h.open(finish.GetClientFinish().GetStatic())
	if err != nil {
		return nil, fmt.Errorf("open the client's key: %w", err)
	}
	if err := h.agree(ephemeral, clientStatic); err != nil {
		return nil, err
	}
	raw, err := h.open(finish.GetClientFinish().GetPayload())
	if err != nil {
		return nil, fmt.Errorf("open the client's payload: %w", err)
	}
	payload := &waWa6.ClientPayload{}
	if err := proto.Unmarshal(raw, payload); err != nil {
		return nil, err
	}
	readKey, writeKey, err := h.derive(nil)
	if err != nil {
		return nil, err
	}
	var errs [2]error
	c.reading, errs[0] = newAEAD(readKey)
	c.writing, errs[1] = newAEAD(writeKey)
	return payload, errors.Join(errs[:]...)
}

func (c *conn) readHandshake(ctx context.Context, m *waWa6.HandshakeMessage) error {
	frame, err := c.readFrame(ctx)
	if err != nil {
		return err
	}
	return proto.Unmarshal(frame, m)
}

// certify makes the chain from the root to the server's static key.
func certify(root, static *keys.KeyPair) ([]byte, error) {
	intermediate := keys.NewKeyPair()
	from, to := uint64(time.Now().Add(-time.Hour).Unix()), uint64(time.Now().Add(time.Hour).Unix())
	certificate := func(serial, issuer uint32, subject, signer *keys.KeyPair) (*waCert.CertChain_NoiseCertificate, error) {
		details, err := proto.Marshal(&waCert.CertChain_NoiseCertificate_Details{
			Serial: &serial, IssuerSerial: &issuer, Key: subject.Pub[:], NotBefore: &from, NotAfter: &to,
		})
		return &waCert.CertChain_NoiseCertificate{Details: details, Signature: sign(signer, details)}, err
	}
	upper, err := certificate(1, 0, intermediate, root)
	if err != nil {
		return nil, err
	}
	leaf, err := certificate(2, 1, static, intermediate)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&waCert.CertChain{Intermediate: upper, Leaf: leaf})
}

func sign(key *keys.KeyPair, data []byte) []byte {
	signature := ecc.CalculateSignature(ecc.NewDjbECPrivateKey(*key.Priv), data)
	return signature[:]
}
