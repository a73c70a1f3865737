export function collect() {}
