import type { StateDirectory } from '../../packages/machine/state-directory.ts';

/** A process, as its surroundings see it. */
export interface Life {
  dead: boolean;
}

export const NEVER = new Promise<never>(() => undefined);

/** The object as a process that may die sees it: its calls have no effect when dead, and answers do not reach it. */
export function killable<T extends object>(object: T, life: Life): T {
  return new Proxy(object, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]): unknown => {
        const answer: unknown = life.dead ? NEVER : Reflect.apply(value, target, args);
        return answer instanceof Promise ? reaching(answer, life) : answer;
      };
    },
  });
}

async function reaching(answer: Promise<unknown>, life: Life): Promise<unknown> {
  try {
    return await answer;
  } finally {
    if (life.dead) await NEVER;
  }
}

export const killableState = (state: StateDirectory, life: Life): StateDirectory => ({
  ...state,
  open: (name, sizeBytes, schema) => {
    const file = state.open(name, sizeBytes, schema);
    return {
      read: file.read,
      write: (value) => {
        if (!life.dead) file.write(value);
      },
    };
  },
});
