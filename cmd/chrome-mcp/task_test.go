package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"
)

// orderPage is an order page of a shop: a quantity and a button for each product, and the total.
const orderPage = `<!doctype html><meta charset=utf-8><title>Order</title><h1>Order</h1><p id=sum>0 pieces</p><ul id=list></ul><script>
const names = ['Walnut', 'Oak', 'Birch', 'Cherry', 'Ash', 'Maple'];
const stock = {};
for (const name of names) {
	const li = document.createElement('li');
	li.innerHTML = '<h2>' + name + ' board</h2><p>Sawn and dried, 2 m long, from our own forest.</p><label>Pieces of ' + name +
		' <input type=number id=q-' + name + '></label> <button id=add-' + name + '>Add ' + name + '</button>';
	document.querySelector('#list').append(li);
	li.querySelector('button').onclick = () => {
		stock[name] = Number(li.querySelector('input').value);
		document.querySelector('#sum').textContent = Object.values(stock).reduce((a, b) => a + b, 0) + ' pieces';
		li.append(' added');
	};
}
</script>`

// BenchmarkTask performs a task of 20 steps with single calls, as a model does that checks each
// result, and with one script.
func BenchmarkTask(b *testing.B) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, orderPage)
	}))
	defer web.Close()
	s := startMCP(b, "--data", b.TempDir(), "--headless", "--isolated", "--prefer", "cdp", "--tools", "core,batch",
		"--allow-domain", "127.0.0.1:*", "--enable-mutations", "--log-level", "error")
	bytes := 0
	call := func(tool string, args map[string]any, want string) string {
		text := s.call(b, tool, args, want)
		bytes += len(asJSON(args)) + len(tool) + len(text)
		return text
	}
	byCalls := func() { order(b, web.URL, call) }
	byScript := func() {
		call("run_script", map[string]any{"script": `navigate({url: '` + web.URL + `'});
const names = ['Walnut', 'Oak', 'Birch', 'Cherry', 'Ash', 'Maple'];
for (const [i, name] of names.entries()) {
	type({selector: '#q-' + name, text: String(i + 1)});
	click({selector: '#add-' + name});
	var sum = get_text({selector: '#sum'}).text;
}
return sum`}, "21 pieces")
	}
	byCalls() // the first page starts the browser
	var took [2]time.Duration
	var said [2]int
	for b.Loop() {
		for i, do := range []func(){byCalls, byScript} {
			bytes = 0
			begin := time.Now()
			do()
			took[i] += time.Since(begin)
			said[i] = bytes
		}
	}
	b.ReportMetric(float64(took[0].Microseconds())/1e3/float64(b.N), "calls-ms")
	b.ReportMetric(float64(took[1].Microseconds())/1e3/float64(b.N), "script-ms")
	b.ReportMetric(float64(took[1])/float64(took[0]), "script/calls-time")
	b.ReportMetric(float64(said[0]), "calls-bytes")
	b.ReportMetric(float64(said[1]), "script-bytes")
	b.ReportMetric(float64(said[1])/float64(said[0]), "script/calls-bytes")
}

// order performs the task on the order page, with 20 calls.
func order(tb testing.TB, url string, call func(tool string, args map[string]any, want string) string) {
	call("navigate", map[string]any{"url": url}, "Order")
	text := call("snapshot", nil, "Walnut")
	sum := 0
	for i, name := range []string{"Walnut", "Oak", "Birch", "Cherry", "Ash", "Maple"} {
		sum += i + 1
		call("type", map[string]any{"ref": refOf(tb, text, `Pieces of `+name), "text": fmt.Sprint(i + 1)}, "ok")
		call("click", map[string]any{"ref": refOf(tb, text, "Add "+name)}, "ok")
		call("get_text", map[string]any{"selector": "#sum"}, fmt.Sprint(sum, " pieces"))
	}
}

// refOf returns the ref of the element with a name in a snapshot.
func refOf(tb testing.TB, snapshot, name string) string {
	tb.Helper()
	m := regexp.MustCompile(`"` + regexp.QuoteMeta(name) + `" \[ref=(e\d+)\]`).FindStringSubmatch(snapshot)
	if m == nil {
		tb.Fatalf("%q not found in\n%s", name, snapshot)
	}
	return m[1]
}
