package outline

const (
	// maxPeriod is how many siblings a repeated group may have.
	maxPeriod = 8
	// minRepeats is from how many repetitions on a run may be folded.
	minRepeats = 8
	// minHidden is how many repetitions a fold must hide to be worth its line.
	minHidden = 3
)

// A run is a sequence of siblings that repeats: heads are the siblings, period
// of them make one repetition.
type run struct {
	heads  []int
	period int
}

// repetitions finds the runs among the children of every line.
func (p *plan) repetitions() []run {
	var runs []run
	var kids []int
	for i := range p.lines {
		kids = kids[:0]
		for c := i + 1; c < p.lines[i].end; c = p.lines[c].end {
			kids = append(kids, c)
		}
		for a := 0; a+minRepeats <= len(kids); {
			period, length := p.repeatAt(kids[a:])
			if period == 0 {
				a++
				continue
			}
			runs = append(runs, run{append([]int(nil), kids[a:a+length]...), period})
			a += length
		}
	}
	return runs
}

// repeatAt returns the shortest period with which kids begins to repeat, and
// how many of them do.
func (p *plan) repeatAt(kids []int) (period, length int) {
	for period = 1; period <= maxPeriod; period++ {
		if len(kids) < period*minRepeats {
			break
		}
		k := 0
		for k+period < len(kids) && p.lines[kids[k]].shape == p.lines[kids[k+period]].shape && !p.lines[kids[k]].note {
			k++
		}
		if repeats := (k + period) / period; repeats >= minRepeats {
			return period, repeats * period
		}
	}
	return 0, 0
}

// foldRuns marks as hidden what repeats beyond the first keep repetitions and
// is not in the viewport, and returns the folds by their first line.
func (p *plan) foldRuns(runs []run, keep int, hidden []bool) map[int]fold {
	folds := make(map[int]fold)
	for _, r := range runs {
		if hidden[r.heads[0]] {
			continue // in a repetition that is folded itself
		}
		start := -1
		flush := func(at int) {
			if start >= 0 && (at-start)/r.period >= minHidden {
				first, end := r.heads[start], p.lines[r.heads[at-1]].end
				f := fold{end: end, count: (at - start) / r.period, depth: p.lines[first].depth}
				if r.period == 1 {
					f.role = p.lines[first].role()
				}
				for j := first; j < end; j++ {
					hidden[j] = true
				}
				folds[first] = f
			}
			start = -1
		}
		for k := 0; k < len(r.heads); k += r.period {
			if k < keep*r.period || p.seen(r.heads[k], p.lines[r.heads[k+r.period-1]].end) {
				flush(k)
			} else if start < 0 {
				start = k
			}
		}
		flush(len(r.heads))
	}
	return folds
}

// seen reports whether one of the lines is in the viewport.
func (p *plan) seen(first, end int) bool {
	for i := first; i < end; i++ {
		if p.lines[i].inViewport() {
			return true
		}
	}
	return false
}
