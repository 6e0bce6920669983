package namedbrowser

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// maxToken limits the token of browserless, in bytes.
const maxToken = 4 << 10

// browserlessBrowsers are browsers of a browserless service.
func browserlessBrowsers() kind {
	return kind{
		name: Browserless,
		keys: []key{
			{name: "urls", usage: "addresses of the replicas of the service, such as ws://browsers:3000/chromium", required: true,
				field: func(b *Browser) any { return &b.URLs }},
			{name: "token-file", usage: "file with the token of the service, that only you can access", file: true,
				field: func(b *Browser) any { return &b.TokenFile }},
			{name: "token-env", usage: "environment variable with the token, of the program that connects to the service",
				field: func(b *Browser) any { return &b.TokenEnv }},
			{name: "launch", usage: "launch options of browserless, such as {\"args\": [\"--lang=de\"]}",
				field: func(b *Browser) any { return &b.Launch }},
			colorKey(),
		},
		check: func(b *Browser) error {
			if b.TokenFile != "" && b.TokenEnv != "" {
				return errors.New("token-file and token-env are mutually exclusive")
			}
			return b.Service().Check()
		},
	}
}

// Service returns the browserless service of the browser.
func (b *Browser) Service() *chromium.Browserless {
	service := &chromium.Browserless{URLs: b.URLs, Launch: b.Launch}
	if b.TokenFile != "" || b.TokenEnv != "" {
		service.Token = b.token
	}
	return service
}

// token reads the token of the service. Errors do not contain it.
func (b *Browser) token() (string, error) {
	fail := func(from string, err error) (string, error) {
		return "", executor.Errorf(executor.ErrLaunchFailed, "The user can correct it.", "token of browser %s: %s%w", b.Name, from, err)
	}
	from, text := "environment variable "+b.TokenEnv, os.Getenv(b.TokenEnv)
	if b.TokenFile != "" {
		data, err := owneronly.ReadFile(b.TokenFile, maxToken)
		if err != nil {
			return fail("", err)
		}
		from, text = b.TokenFile, string(data)
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return fail(from, errors.New(" has no token"))
	case strings.ContainsAny(text, " \t\r\n") || !httpguts.ValidHeaderFieldValue(text):
		return fail(from, errors.New(" is not a token: it contains white space or control characters"))
	}
	return text, nil
}
