package secrets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
	"golang.org/x/sync/singleflight"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func TestParse(t *testing.T) {
	for text, want := range map[string][]Part{
		"":                       {{}},
		"plain {text}":           {{Text: "plain {text}"}},
		"{{shop.password}}":      {{"{{shop.password}}", "shop", "password"}},
		"a{{shop.password}}b":    {{Text: "a"}, {"{{shop.password}}", "shop", "password"}, {Text: "b"}},
		`\{{shop.password}}`:     {{Text: "{{shop.password}}"}},
		`a\{{shop.password}}b`:   {{Text: "a{{shop.password}}b"}},
		`\\{{shop.password}}`:    {{Text: `\{{shop.password}}`}},
		"{{{shop.password}}}":    {{Text: "{"}, {"{{shop.password}}", "shop", "password"}, {Text: "}"}},
		"{{a.b}}{{c.d}}":         {{"{{a.b}}", "a", "b"}, {"{{c.d}}", "c", "d"}},
		"{{ shop.password }}":    {{Text: "{{ shop.password }}"}},
		"{{shop}}":               {{Text: "{{shop}}"}},
		"{{Shop.password}}":      {{Text: "{{Shop.password}}"}},
		"{{shop.password.more}}": {{Text: "{{shop.password.more}}"}},
		`\{{ x }}`:               {{Text: `\{{ x }}`}},
		"{{shop.password":        {{Text: "{{shop.password"}},
	} {
		if got := Parse(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`a{{shop.password}}\{{x.y}}{{`)
	f.Fuzz(func(t *testing.T, text string) {
		escaped := 0
		var all strings.Builder
		for i, p := range Parse(text) {
			if p.Text == "" && text != "" {
				t.Errorf("%q: part %d is empty", text, i)
			}
			all.WriteString(p.Text)
		}
		if escaped = len(text) - all.Len(); escaped < 0 || escaped > strings.Count(text, `\{{`) {
			t.Errorf("%q became %q", text, all.String())
		}
	})
}

// TestTOTP has the vectors of RFC 6238, appendix B.
func TestTOTP(t *testing.T) {
	seeds := map[string]string{
		"SHA1":   "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
		"SHA256": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA",
		"SHA512": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNA",
	}
	for _, v := range []struct {
		time  int64
		codes [3]string
	}{
		{59, [3]string{"94287082", "46119246", "90693936"}},
		{1111111109, [3]string{"07081804", "68084774", "25091201"}},
		{1111111111, [3]string{"14050471", "67062674", "99943326"}},
		{1234567890, [3]string{"89005924", "91819424", "93441116"}},
		{2000000000, [3]string{"69279037", "90698825", "38618901"}},
		{20000000000, [3]string{"65353130", "77737706", "47863826"}},
	} {
		for i, algorithm := range []string{"SHA1", "SHA256", "SHA512"} {
			g, err := parseTOTP("otpauth://totp/Shop:me?secret=" + seeds[algorithm] + "&digits=8&algorithm=" + algorithm)
			if err != nil {
				t.Fatal(err)
			}
			code, valid := g.at(time.Unix(v.time, 0))
			if code != v.codes[i] || valid.Seconds() != float64(30-v.time%30) {
				t.Errorf("%s at %d: %s, valid for %v; want %s", algorithm, v.time, code, valid, v.codes[i])
			}
		}
	}
	for _, seed := range []string{"gezd gnbv gy3t qojq gezd gnbv gy3t qojq", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ===="} {
		g, err := parseTOTP(seed)
		if err != nil {
			t.Fatal(err)
		}
		if code, _ := g.at(time.Unix(59, 0)); code != "287082" {
			t.Errorf("%q: %s", seed, code)
		}
	}
	g, err := parseTOTP("OTPAUTH://TOTP/Shop:me?secret=" + seeds["SHA1"] + "&digits=8")
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := g.at(time.Unix(59, 0)); code != "94287082" {
		t.Errorf("a URL in capitals: %s", code)
	}
	for _, bad := range []string{"", "short", "not base32!", "123456", "otpauth://hotp/x?secret=GEZDGNBVGY3TQOJQ", "otpauth://totp/x", "otpauth://totp/x?secret=GEZDGNBVGY3TQOJQ&digits=3",
		"otpauth://totp/x?secret=GEZDGNBVGY3TQOJQ&period=0", "otpauth://totp/x?secret=GEZDGNBVGY3TQOJQ&algorithm=MD5"} {
		if _, err := parseTOTP(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestClockSkew checks that the code follows the clock, and that a clock that was never set is an
// error.
func TestClockSkew(t *testing.T) {
	v := newVault(t)
	set(t, v, "shop.totp", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
	codes := map[string]bool{}
	for _, second := range []int{0, 29, 30, -1, 3600} {
		v.now = func() time.Time { return time.Date(2026, 11, 25, 12, 0, second, 0, time.UTC) }
		code, err := read(t, v, "shop", "totp")
		if err != nil || len(code) != 6 {
			t.Fatalf("%q %v", code, err)
		}
		codes[code] = true
	}
	if len(codes) != 4 {
		t.Errorf("%d codes: %v", len(codes), codes)
	}
	v.now = func() time.Time { return time.Unix(1000, 0) }
	if _, err := read(t, v, "shop", "totp"); err == nil || !strings.Contains(err.Error(), "secret shop.totp has no valid code: the clock of this machine shows 1970-01-01") || executor.CodeOf(err) != executor.ErrPolicyDenied {
		t.Errorf("with a wrong clock: %v", err)
	}
}

func newVault(t *testing.T) *Vault { return Open(filepath.Join(t.TempDir(), "data")) }

func set(t *testing.T, v *Vault, name, value string) {
	t.Helper()
	n, field, err := SplitName(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Set(context.Background(), Change{Name: n, Field: field, Value: value, Origins: []string{"https://shop.example"}}); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, v executor.Secrets, name, field string) (string, error) {
	t.Helper()
	s, ok, err := v.Find(t.Context(), name, field)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", ErrUnknown
	}
	return s.Value(t.Context())
}

func TestVault(t *testing.T) {
	v := newVault(t)
	if list, err := v.List(t.Context()); err != nil || len(list) != 0 {
		t.Fatalf("without a file: %v %v", list, err)
	}
	set(t, v, "shop.password", password)
	set(t, v, "shop.username", "ada@shop.example")
	set(t, v, "bank.pin", "90707")
	if got, err := read(t, v, "shop", "password"); err != nil || got != password {
		t.Errorf("%q %v", got, err)
	}
	if got := v.Mask("My qLz9, ada@shop.example, ada@, 9070"); got != "My "+Replacement+", ada@shop.example, ada@, 9070" {
		t.Errorf("masks what was not read: %q", got)
	}
	if _, err := read(t, v.View([]string{"bank"}), "shop", "password"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a secret that was not given: %v", err)
	}
	if list, err := v.View([]string{"bank"}).List(t.Context()); err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], executor.SecretInfo{Name: "bank", Fields: []string{"pin"}, Origins: []string{"https://shop.example"}}) {
		t.Errorf("%v %v", list, err)
	}
	if err := v.Remove(t.Context(), "shop", "username"); err != nil {
		t.Error(err)
	}
	if err := v.Remove(t.Context(), "shop", "username"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if err := v.Remove(t.Context(), "shop", ""); err != nil {
		t.Error(err)
	}
	if d, err := v.Fields(); err != nil || len(d) != 1 || d[0].Name != "bank" {
		t.Errorf("%v %v", d, err)
	}
}

// TestView checks that a view masks only the values that were read through it: its masks say nothing of
// the values of other views.
func TestView(t *testing.T) {
	v := newVault(t)
	set(t, v, "shop.password", password)
	set(t, v, "bank.totp", "GY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBV")
	a, b, none := v.View(nil), v.View([]string{"shop"}), (*View)(nil)
	if _, err := read(t, a, "shop", "password"); err != nil {
		t.Fatal(err)
	}
	code, err := read(t, a, "bank", "totp")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"My qLz9", "GY3TQOJQ", code} {
		for name, s := range map[string]interface{ Mask(string) string }{"vault": v, "view": a} {
			if got := s.Mask(text); !strings.Contains(got, Replacement) {
				t.Errorf("%s: %q became %q", name, text, got)
			}
		}
		for name, s := range map[string]*View{"other view": b, "no view": none} {
			if got := s.Mask(text); got != text || s.Withhold(text) {
				t.Errorf("%s: %q became %q", name, text, got)
			}
		}
	}
	if _, err := read(t, b, "shop", "password"); err != nil || b.Mask("qLz9") != Replacement || b.Mask(code) != code {
		t.Errorf("a view through which one value was read masks %q: %v", b.Mask("qLz9"), err)
	}
}

// TestKeyringReads checks that calls for a value wait for the read that waits for the user.
func TestKeyringReads(t *testing.T) {
	keyring.MockInitWithError(errors.New("a second prompt"))
	t.Cleanup(keyring.MockInit)
	var reads singleflight.Group
	unlocked := make(chan string)
	first := reads.DoChan("user", func() (any, error) { return <-unlocked, nil })
	limit, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		if _, err := keyringGet(limit, &reads, "user"); err == nil || !strings.Contains(err.Error(), "did not answer") {
			t.Errorf("a locked keyring: %v", err)
		}
	}
	unlocked <- password
	if r := <-first; r.Val != password || !r.Shared {
		t.Errorf("the calls did not wait for the first one: %v", r)
	}
	if _, err := keyringGet(t.Context(), &reads, "user"); err == nil || !strings.Contains(err.Error(), "a second prompt") {
		t.Errorf("after the first read: %v", err)
	}
}

// TestRemoveFromKeyring checks that a field whose value the keyring does not delete remains.
func TestRemoveFromKeyring(t *testing.T) {
	keyring.MockInit()
	v := newVault(t)
	set(t, v, "shop.username", "ada@shop.example")
	change := Change{Name: "shop", Field: "password", Value: password, Store: StoreKeyring}
	if err := v.Set(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	keyring.MockInitWithError(errors.New("locked"))
	t.Cleanup(keyring.MockInit)
	const want = "secret shop.password is not available: keyring: locked"
	if err := v.Remove(t.Context(), "shop", ""); err == nil || err.Error() != want {
		t.Errorf("remove: %v", err)
	}
	if err := v.Set(t.Context(), change); err == nil || err.Error() != want {
		t.Errorf("set: %v", err)
	}
	if list, err := v.Fields(); err != nil || len(list) != 1 || list[0].Field != "password" || list[0].Store != StoreKeyring {
		t.Errorf("fields: %v %v", list, err)
	}
	keyring.MockInit()
	if err := v.Remove(t.Context(), "shop", ""); err != nil {
		t.Error(err)
	}
	if list, err := v.Fields(); err != nil || len(list) != 0 {
		t.Errorf("fields: %v %v", list, err)
	}
}

// TestConcurrentChanges checks that no change is lost when programs change the file at the same time.
func TestConcurrentChanges(t *testing.T) {
	v := newVault(t)
	set(t, v, "shop.field", password)
	set(t, v, "bank.old", password)
	var changes sync.WaitGroup
	const n = 20
	for i := range n {
		changes.Go(func() {
			other := Open(filepath.Dir(v.Path()))
			if err := other.Set(t.Context(), Change{Name: "shop", Field: fmt.Sprintf("field%d", i), Value: password}); err != nil {
				t.Error(err)
			}
		})
	}
	changes.Go(func() {
		if err := Open(filepath.Dir(v.Path())).Remove(t.Context(), "bank", "old"); err != nil {
			t.Error(err)
		}
	})
	changes.Wait()
	if list, err := v.Fields(); err != nil || len(list) != n+1 {
		t.Errorf("%d fields, want %d: %v", len(list), n+1, err)
	}
}

// TestSetFails checks that the keyring has the previous value, or none, if the file cannot be written.
func TestSetFails(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the directory is always writable")
	}
	keyring.MockInit()
	v := newVault(t)
	change := Change{Name: "shop", Field: "password", Value: password, Store: StoreKeyring, Origins: []string{"https://shop.example"}}
	if err := v.Set(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	// Files in the directory may be read, but none may be written.
	if err := os.Chmod(filepath.Dir(v.Path()), 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	for field, value := range map[string]string{"password": "Nq4!wTz8pL", "pin": "90707"} {
		change.Field, change.Value = field, value
		if err := v.set(t.Context(), change); err == nil {
			t.Errorf("%s: no error", field)
		}
	}
	if value, err := keyring.Get(keyringService, keyringUser(v.Path(), "shop", "password")); err != nil || value != password {
		t.Errorf("the previous value was replaced: %v", err)
	}
	if _, err := keyring.Get(keyringService, keyringUser(v.Path(), "shop", "pin")); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the new value remains: %v", err)
	}
}

// TestTest checks that the values that were tested are masked, also those that cannot be typed.
func TestTest(t *testing.T) {
	keyring.MockInit()
	v := newVault(t)
	set(t, v, "shop.password", password)
	set(t, v, "shop.totp", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
	if err := v.Set(t.Context(), Change{Name: "shop", Field: "pin", Value: "90707", Store: StoreKeyring}); err != nil {
		t.Fatal(err)
	}
	if err := keyring.Set(keyringService, keyringUser(v.Path(), "shop", "pin"), "two\nlines"); err != nil {
		t.Fatal(err)
	}
	list, err := v.Test(t.Context(), "", "")
	if err != nil || len(list) != 3 {
		t.Fatalf("%v %v", list, err)
	}
	for i, bad := range []bool{false, true, false} {
		if r := list[i]; (r.Err != nil) != bad || !r.Clock.IsZero() != (r.Field == FieldTOTP) || (r.Valid > 0) != (r.Field == FieldTOTP) {
			t.Errorf("%+v", r)
		}
	}
	if got := v.Mask("qLz9, GY3TQOJQ, lines"); got != Replacement+", "+Replacement+", "+Replacement {
		t.Errorf("masked: %q", got)
	}
	if _, err := v.Test(t.Context(), "bank", ""); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

func TestBadValues(t *testing.T) {
	v := newVault(t)
	for _, c := range []Change{
		{Name: "shop", Field: "password", Value: "123"},
		{Name: "shop", Field: "password", Value: "two\nlines"},
		{Name: "shop", Field: "password", Value: strings.Repeat("x", 5000)},
		{Name: "shop", Field: "totp", Value: "not a seed"},
		{Name: "shop", Field: "password", Value: "https://x.example/y", Store: StoreOnePassword},
		{Name: "shop", Field: "password", Value: "12", Store: StoreKeyring},
		{Name: "shop", Field: "pass.word", Value: password},
		{Name: "Shop", Field: "password", Value: password},
	} {
		c.Origins = []string{"https://shop.example"}
		err := v.Set(t.Context(), c)
		if err == nil || len(c.Value) > 5 && c.Store != StoreOnePassword && strings.Contains(err.Error(), c.Value) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := v.Set(t.Context(), Change{Name: "shop", Field: "password", Value: password}); err == nil {
		t.Error("a secret without an origin was set")
	}
}

func TestCheckOrigin(t *testing.T) {
	for _, ok := range []string{"https://shop.example", "https://shop.example:8443", "http://localhost:3000", "http://127.0.0.1", "http://a.localhost", "http://[::1]:80800"[:16], "https://xn--bcher-kva.example"} {
		if err := CheckOrigin(ok); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "shop.example", "https://", "https://shop.example/", "https://shop.example/login", "https://Shop.example", "https://shop.example.", "https://shop.example:443",
		"http://localhost:80", "http://shop.example", "http://10.0.0.1", "https://*.shop.example", "https://ü.example", "https://user@shop.example", "ftp://shop.example", "file:///etc",
		"http://localhost.evil.example", "https://shop.example?x", "https://shop.example#x", "null", "about:blank", "https://shop.example:"} {
		if err := CheckOrigin(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestFile checks the file: its mode, and that one which others can read, or which is damaged, is an
// error that has no value.
func TestFile(t *testing.T) {
	v := newVault(t)
	set(t, v, "shop.password", password)
	info, err := os.Stat(v.Path())
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info.Mode(), err)
	}
	wide := func() { os.Chmod(v.Path(), 0o640) }
	write := func(text string) func() {
		return func() { os.WriteFile(v.Path(), []byte(text), 0o600) }
	}
	entry := func(text string) func() { return write(`{"version":1,"secrets":[` + text + `]}`) }
	for name, change := range map[string]struct {
		do   func()
		want string
	}{
		"wide permissions": {wide, "read by others (mode 0640)"},
		"no JSON":          {write(password), "not valid JSON"},
		"unknown key":      {write(`{"version":1,"passwords":["` + "Kw7#qLz9" + `"]}`), "not valid JSON"},
		"version":          {write(`{"version":7}`), "version 7"},
		"origin":           {entry(`{"name":"shop","origins":["http://shop.example"],"fields":{}}`), "not encrypted"},
		"no origin":        {entry(`{"name":"shop","fields":{}}`), "no origin"},
		"two sources":      {entry(`{"name":"shop","origins":["https://shop.example"],"fields":{"password":{"value":"Kw7#qLz9","keyring":true}}}`), "exactly one"},
		"twice":            {entry(`{"name":"shop","origins":["https://shop.example"]},{"name":"shop","origins":["https://shop.example"]}`), "twice"},
	} {
		if runtime.GOOS == "windows" && name == "wide permissions" {
			continue
		}
		change.do()
		_, _, err := v.Find(t.Context(), "shop", "password")
		if err == nil || !strings.Contains(err.Error(), change.want) || strings.Contains(err.Error(), "Kw7") || executor.CodeOf(err) != executor.ErrPolicyDenied {
			t.Errorf("%s: %v", name, err)
		}
		if err := v.Set(t.Context(), Change{Name: "other", Field: "password", Value: password, Origins: []string{"https://shop.example"}}); err == nil {
			t.Errorf("%s: the file was replaced", name)
		}
		os.Chmod(v.Path(), 0o600)
	}
}

// TestOnePassword runs a program with the interface of 1Password's. The real one needs an account.
func TestOnePassword(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	v := newVault(t)
	v.op = filepath.Join(t.TempDir(), "op")
	script := "#!/bin/sh\n[ \"$#:$1:$2:$3\" = 4:read:--no-newline:-- ] || exit 9\ncase \"$4\" in\nop://Private/Shop/password) printf '%s' '" + password + "' ;;\n*) echo \"[ERROR] isn't an item\" >&2; exit 1 ;;\nesac\n"
	if err := os.WriteFile(v.op, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for field, reference := range map[string]string{"password": "op://Private/Shop/password", "other": "op://Private/$(touch x)/password"} {
		if err := v.Set(t.Context(), Change{Name: "shop", Field: field, Value: reference, Origins: []string{"https://shop.example"}, Store: StoreOnePassword}); err != nil {
			t.Fatal(err)
		}
	}
	if file, err := os.ReadFile(v.Path()); err != nil || strings.Contains(string(file), password) {
		t.Errorf("the file has the value: %v", err)
	}
	if got, err := read(t, v, "shop", "password"); err != nil || got != password || v.Mask("qLz9") != Replacement {
		t.Errorf("%q %v", got, err)
	}
	if _, err := read(t, v, "shop", "other"); err == nil || !strings.Contains(err.Error(), "isn't an item") {
		t.Error(err)
	}
	v.op = filepath.Join(t.TempDir(), "none")
	if _, err := read(t, v, "shop", "password"); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Error(err)
	}
}
