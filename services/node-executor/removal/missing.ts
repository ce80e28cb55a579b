/** The system's code of an error, e.g. `ENOENT`; empty when it has none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

/** `otherwise` where what was asked for is not there; any other error is passed on. */
export async function unlessMissing<T, U>(result: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await result;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return otherwise;
    throw error;
  }
}
