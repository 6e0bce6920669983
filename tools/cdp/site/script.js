function used() { return 1; }
function unused() { return 2; }
window.ran = used();
