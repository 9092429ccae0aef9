package admin_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
)

// No form of a request has a second one pass as its body, bears a token where it must not, or finds what is not served.
// Behaviour: program-http.
func TestForgedRequests(t *testing.T) {
	t.Parallel()
	const body = `{"to": "tg:1", "text": "hello"}`
	inner := fmt.Sprintf("POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: %d\r\n\r\n%s", bearer, len(body), body)
	post := func(headers string) string {
		return "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n\r\n"
	}
	d := &desk{}
	address := serveTCP(t, setup(t), d)
	length := fmt.Sprintf("Content-Length: %d", len(body))
	for name, text := range map[string]string{
		"a length and chunks":        post("Content-Length: 4\r\nTransfer-Encoding: chunked") + "0\r\n\r\n" + inner,
		"chunks and a length":        post("Transfer-Encoding: chunked\r\nContent-Length: 6") + "0\r\n\r\n" + inner,
		"another coding":             post("Content-Length: 4\r\nTransfer-Encoding: xchunked") + inner,
		"a coding with a space":      post("Content-Length: 4\r\nTransfer-Encoding : chunked") + inner,
		"two codings":                post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity") + "0\r\n\r\n" + inner,
		"two lengths":                post("Content-Length: 0\r\nContent-Length: 4") + inner,
		"a signed length":            post("Content-Length: +0") + inner,
		"a folded header":            post("X: y\r\n Authorization: Bearer "+token+"\r\n"+length) + body,
		"a header without a return":  "POST /v1/messages HTTP/1.1\nHost: 127.0.0.1\nX: y\r\nContent-Length: 0\r\n\r\n" + inner,
		"behind what needs no token": "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\n\r\nabcd" + strings.Replace(inner, bearer, "", 1),
		"the token in the query":     "POST /v1/messages?token=" + token + "&access_token=" + token + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + length + "\r\n\r\n" + body,
		"the token in a cookie":      post("Cookie: Authorization=Bearer "+token+"; token="+token+"\r\n"+length) + body,
		"a second token":             post("Authorization: Bearer wrong\r\nAuthorization: Bearer "+token+"\r\n"+length) + body,
		"the token of a proxy":       post("Proxy-Authorization: Bearer "+token+"\r\n"+length) + body,
		"another user's":             post("X-Forwarded-For: 127.0.0.1\r\nX-Original-URL: /healthz\r\n"+length) + body,
		"another method":             post("X-HTTP-Method-Override: GET\r\n"+length) + body,
		"an absolute address":        "POST http://127.0.0.1/v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n" + length + "\r\n\r\n" + body,
		"from a probe to it":         "POST /healthz/../v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n" + length + "\r\n\r\n" + body,
		"an escaped way to it":       "POST /healthz/%2e%2e/v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n" + length + "\r\n\r\n" + body,
		"two slashes":                "POST //v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n" + length + "\r\n\r\n" + body,
		"a preflight":                "OPTIONS /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n\r\n",
		"a tunnel":                   "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"another protocol":           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		conn := dial(t, address, text)
		for read := bufio.NewReader(conn); ; {
			response, err := http.ReadResponse(read, nil)
			if err != nil {
				break // the host has closed the connection
			}
			said, _ := io.ReadAll(response.Body)
			if probe := strings.HasPrefix(text, "GET /healthz"); response.StatusCode < 300 && (!probe || string(said) != "ok\n") || response.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s: %s, %s", name, response.Status, said)
			}
			if response.Close {
				break
			}
		}
		if len(d.sent) > 0 {
			t.Errorf("%s: sent %+v", name, d.sent)
		}
	}
}

// With the token, no way leads to what only the control socket serves.
// Behaviour: program-http.
func TestWaysToTheControlSocket(t *testing.T) {
	t.Parallel()
	address := serveTCP(t, setup(t), &desk{})
	for _, path := range []string{
		"/v1/transcript?session=tg:1", "/v1/plugins", "/v1/plugins/restart?name=tg", "/v1/plugins/login", "/v1/queue/dead", "/v1/queue/retry?id=1", "/v1/pairings",
		"/v1/pairings/approve?code=A", "/v1/tools?session=tg:1", "/v1/logs", "/v1/links", "/v1/status/../pairings", "/v1/status/%2e%2e/pairings", "/v1//pairings", "//v1/pairings",
		"/V1/pairings", "/v1/pairings/", "/v1/status;/pairings", "/v1/queue%2fdead", "/v1/runs", "/v1/questions", "/v1/questions/answer?id=AAAAA&answer=once", "/logout", "/debug/pprof/", "/metrics",
	} {
		for _, method := range []string{"GET", "POST"} {
			conn := dial(t, address, method+" "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\n"+bearer+"Content-Length: 0\r\nConnection: close\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || response.StatusCode < 300 || response.StatusCode >= 500 {
				t.Errorf("%s %s: %+v, %v", method, path, response, err)
			}
		}
	}
}

// A message has at most so many files.
// Behaviour: program-send.
func TestFilesOfAMessageAreLimited(t *testing.T) {
	t.Parallel()
	for files, code := range map[int]int{10: 200, 11: 422} {
		_, d, h := remote(t)
		var form bytes.Buffer
		parts := multipart.NewWriter(&form)
		message, err := parts.CreateFormField("message")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = message.Write([]byte(`{"to": "tg:1"}`))
		for range files {
			if _, err := parts.CreateFormFile("file", "tea.txt"); err != nil {
				t.Fatal(err)
			}
		}
		_ = parts.Close()
		w := ask(t, h, "POST", "/v1/messages", form.String(), "Authorization", "Bearer "+token, "Content-Type", parts.FormDataContentType())
		if w.Code != code || code == 422 && !strings.Contains(w.Body.String(), "a message has at most 10 files") || len(d.sent) == 1 != (code == 200) {
			t.Errorf("%d files: %d, %s, sent %+v", files, w.Code, w.Body, d.sent)
		}
	}
}

// The name of a file of a form is a name and no path.
// Behaviour: program-http.
func TestNamesOfFormFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"tea.txt": "tea.txt", "../../etc/passwd": "passwd", "/etc/passwd": "passwd", "a/../b.txt": "b.txt", "..": "..", "": "",
	} {
		_, d, h := remote(t)
		var form bytes.Buffer
		parts := multipart.NewWriter(&form)
		message, err := parts.CreateFormField("message")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = message.Write([]byte(`{"to": "tg:1"}`))
		file, err := parts.CreatePart(textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf("form-data; name=file; filename=%q", name)}})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = file.Write([]byte("tea"))
		_ = parts.Close()
		w := ask(t, h, "POST", "/v1/messages", form.String(), "Authorization", "Bearer "+token, "Content-Type", parts.FormDataContentType())
		if w.Code != 200 || len(d.sent) != 1 || len(d.sent[0].Files) != 1 || d.sent[0].Files[0].FileName != want+"=tea" {
			t.Errorf("%q: %d, %s, sent %+v", name, w.Code, w.Body, d.sent)
		}
	}
}
