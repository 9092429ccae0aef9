// Applies the chosen colours before the first paint.
document.documentElement.dataset.theme = localStorage.getItem('clawhost.theme') ?? 'system';
