package redact

import "testing"

func TestRedactBody(t *testing.T) {
	for in, want := range map[string]string{
		`{"access_token": "abc\"d", "n": 1}`:                 `{"access_token": "(6 characters)", "n": 1}`,
		`{"user":{"Password":"å1"},"tokens":12}`:             `{"user":{"Password":"(2 characters)"},"tokens":12}`,
		`{"apiKey":"x","api-key-id":"y","X-Auth-Token":""}`:  `{"apiKey":"(1 characters)","api-key-id":"y","X-Auth-Token":"(0 characters)"}`,
		`{"author":"Ann","keywords":"password"}`:             `{"author":"Ann","keywords":"password"}`,
		`{"secret":"cut off`:                                 `{"secret":"cut off`,
		`plain text`:                                         `plain text`,
		`{"card":"4111111111111111","cvv":737}`:              `{"card":"(16 characters)","cvv":"(3 characters)"}`,
		`{"header":"Bearer abcdefgh12345"}`:                  `{"header":"Bearer (hidden)"}`,
		`see eyJhbGciOiJI.eyJzdWIiOiIx.sig-1 there`:          `see (hidden) there`,
		`https://x.test/a?access_token=abc&n=1#id_token=xyz`: `https://x.test/a?access_token=(hidden)&n=1#id_token=(hidden)`,
		`https://x.test/a?author=ann&tokens_left=no&q=token`: `https://x.test/a?author=ann&tokens_left=(hidden)&q=token`,
		`the basic idea of a bearer`:                         `the basic idea of a bearer`,
		`board:"discard", a card "at hand": "yes"`:           `board:"discard", a card "at hand": "yes"`,
	} {
		if got := Secrets(in); got != want {
			t.Errorf("redactBody(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestMaskFieldValues(t *testing.T) {
	for in, want := range map[string]string{
		`<input type=password value=hunter2>`:                            `<input type="password" value="••••">`,
		`<INPUT autocomplete="cc-number" value="4111"/>`:                 `<input autocomplete="cc-number" value="••••"/>`,
		`<input name=cardNumber value=4111><input name=pin value=1>`:     `<input name="cardNumber" value="••••"><input name="pin" value="••••">`,
		`<textarea name=user_password>a <b> c</textarea> d`:              `<textarea name="user_password">••••</textarea> d`,
		`<input name=q value="a&amp;b" checked> a < b <p`:                `<input name=q value="a&amp;b" checked> a < b <p`,
		`<input type=password>`:                                          `<input type="password">`,
		`<script>if (a < b) x("<input type=password value=p>")</script>`: `<script>if (a < b) x("<input type=password value=p>")</script>`,
		`no markup`: `no markup`,
	} {
		if got := FieldValues(in); got != want {
			t.Errorf("maskFieldValues(%s) = %s, want %s", in, got, want)
		}
	}
}
