// The colours that were chosen, before anything is painted.
document.documentElement.dataset.theme = localStorage.getItem('clawhost.theme') ?? 'system';
