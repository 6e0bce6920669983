package gotest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTiers(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go": `package a

import (
	"testing"

	"fake/b"
	"fake/internal/testing/tier"
)

func TestMain(m *testing.M) {}
func TestShort(t *testing.T) {}
func Testing(t *testing.T) {}
func FuzzIt(f *testing.F) {}
func TestSlow(t *testing.T) { tier.Slow(t) }
func TestDeep(t *testing.T) { tier.Browser(t); tier.Deep(t) }
func TestDeepCase(t *testing.T) { t.Run("case", func(t *testing.T) { tier.Deep(t) }) }
func TestDeepIf(t *testing.T) { if testing.Verbose() { tier.Deep(t) } }
func TestHelper(t *testing.T) { x := start(t); _ = x }
func TestOtherPackage(t *testing.T) { b.Start(t, 1) }
func TestMethod(t *testing.T) { new(env).start(t) }
func TestNotInShort(t *testing.T) { if testing.Short() { t.Skip() } }
func TestDeepBlock(t *testing.T) { { tier.Deep(t) } }
func TestSkipped(t *testing.T) { t.Skipf("later") }
func TestSkippedElse(t *testing.T) { if testing.Verbose() { return }; t.Skip() }
func TestSkippedIf(t *testing.T) { if testing.Verbose() { t.Skip() } }
func TestSkippedUnlessDeep(t *testing.T) { if !tier.DeepEnabled() { t.Log("slow"); t.Skip() } }
func start(t *testing.T) int { return other(t) }

type env struct{}

func (env) start(t *testing.T) { b.Start(t, 1) }
`,
		"a/other_test.go": "package a\n\nimport . \"testing\"\nimport deep \"fake/internal/testing/tier\"\n\nfunc other(t *T) int { deep.Deep(t); return 1 }\n",
		"b/b.go":          "package b\n\nimport \"fake/internal/testing/tier\"\n\nfunc Start(t any, n int) { if n > 0 { Start(t, n-1) }; tier.Browser(t) }\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source := NewSource(root, "fake")
	tests, err := source.Tests("a")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Tier{
		"TestShort": Short, "FuzzIt": Short, "TestSlow": Landing, "TestDeep": Deep, "TestDeepCase": Landing, "TestDeepIf": Landing,
		"TestHelper": Deep, "TestOtherPackage": Landing, "TestMethod": Landing, "TestNotInShort": Landing,
		"TestDeepBlock": Deep, "TestSkipped": Deep, "TestSkippedIf": Short, "TestSkippedElse": Short, "TestSkippedUnlessDeep": Deep,
	}
	for _, name := range []string{"TestDeep", "TestHelper", "TestOtherPackage", "TestMethod", "TestDeepCase", "TestSlow"} {
		if got, want := source.Reaches("a", name, "b.Start"), name == "TestOtherPackage" || name == "TestMethod"; got != want {
			t.Errorf("%s reaches b.Start: %v", name, got)
		}
	}
	if !source.Reaches("a", "TestOtherPackage", "internal/testing/tier.Browser") {
		t.Error("TestOtherPackage does not reach tier.Browser")
	}
	if len(tests) != len(want) {
		t.Errorf("tests %v", tests)
	}
	for _, test := range tests {
		if tier, ok := want[test.Name]; !ok || test.Tier != tier || test.File != "a_test.go" {
			t.Errorf("%+v, want tier %v", test, tier)
		}
	}
}
