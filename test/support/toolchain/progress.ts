/** One quiet line on stderr; stdout belongs to the runner's result. */
export function say(text: string): void {
  process.stderr.write(`toolchain: ${text}\n`);
}

/** Runs `work`, telling what was begun and how long it took. */
export async function step<T>(title: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  say(`${title} …`);
  const result = await work();
  say(`${title}: done in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return result;
}
