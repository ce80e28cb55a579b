import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type {
  DashboardActivity,
  DashboardNews,
  DashboardProgress,
  DashboardSession,
} from '../../../schemas/reports/dashboard.ts';
import type { DashboardSimulations } from '../../../schemas/reports/dashboard-policies.ts';

/** What became of a question. */
export type Answered<Value> =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'answered'; readonly value: Value }
  | { readonly kind: 'refused'; readonly status: number; readonly problem: string };

interface Problem {
  readonly problem?: string;
}

/** Asks the API once. */
const ask = <Value>(path: string, signal?: AbortSignal): Promise<Answered<Value>> =>
  askedOf<Value>(path, { headers: { accept: 'application/json' }, ...(signal && { signal }) });

/** Sends a text, such as that of a policy, with a question about it. */
export const send = <Value>(path: string, text: string, signal?: AbortSignal): Promise<Answered<Value>> =>
  askedOf<Value>(path, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'text/plain' },
    body: text,
    ...(signal && { signal }),
  });

/** What the API answers; it is what its schema says, and is not looked through again here. */
export async function askedOf<Value>(path: string, request: RequestInit): Promise<Answered<Value>> {
  const response = await fetch(path, request);
  if (response.ok) {
    const value: Value = await response.json();
    return { kind: 'answered', value };
  }
  const told: Problem = await response.json().catch(() => ({}));
  return { kind: 'refused', status: response.status, problem: told.problem ?? response.statusText };
}

const noAnswer = (): Answered<never> => ({
  kind: 'refused',
  status: 0,
  problem: 'the dashboard does not answer',
});

/**
 * Asks now, every `everyMs` again while the page is seen, and when `again` is another; what was answered stays until something
 * else is.
 */
export function useAnswer<Value>(path: string, everyMs: number | null, again = 0): Answered<Value> {
  const [answered, setAnswered] = useState<Answered<Value>>({ kind: 'waiting' });
  const asked = useRef('');
  useEffect(() => {
    const ending = new AbortController();
    if (asked.current.split('?')[0] !== path.split('?')[0]) setAnswered({ kind: 'waiting' });
    asked.current = path;
    const look = (): void => {
      if (document.hidden) return;
      ask<Value>(path, ending.signal)
        .then(setAnswered)
        .catch(() => {
          if (!ending.signal.aborted) setAnswered(noAnswer());
        });
    };
    look();
    const timer = everyMs === null ? null : setInterval(look, everyMs);
    return () => {
      ending.abort();
      if (timer !== null) clearInterval(timer);
    };
  }, [path, everyMs, again]);
  return answered;
}

/** What is told as it happens, by the name of its event. */
interface NewsOf {
  readonly nodes: DashboardNews;
  readonly activity: Pick<DashboardActivity, 'activity'>;
  readonly progress: DashboardProgress;
  readonly simulations: DashboardSimulations;
}

/** Follows what is new of one kind; whether the stream is open. It opens again by itself, and then something may be missing. */
export function useNews<Name extends keyof NewsOf>(
  name: Name,
  onNews: (news: NewsOf[Name]) => void,
  onMissing: () => void,
): boolean {
  const [isOpen, setOpen] = useState(true);
  const listener = useRef(onNews);
  listener.current = onNews;
  const missing = useRef(onMissing);
  missing.current = onMissing;
  useEffect(() => {
    const source = new EventSource('/api/events');
    let wasBroken = false;
    source.onopen = () => {
      setOpen(true);
      if (wasBroken) missing.current();
    };
    source.onerror = () => {
      setOpen(false);
      wasBroken = true;
    };
    source.addEventListener(name, (event) => listener.current(JSON.parse(event.data)));
    return () => source.close();
  }, [name]);
  return isOpen;
}

const READ_EVERY_MS = 1_000;
/** What was read is kept for whoever still looks at it. */
const KEPT_EVERY_MS = 60_000;

/** How a reading of the log stands that may take minutes. */
interface Standing {
  readonly state: 'waiting' | 'reading' | 'read' | 'failed';
}

/** How soon; `null`: it has failed. */
function askedAgainMs(answered: Answered<Standing>): number | null {
  const state = answered.kind === 'answered' ? answered.value.state : 'waiting';
  if (state === 'failed') return null;
  return state === 'read' ? KEPT_EVERY_MS : READ_EVERY_MS;
}

/**
 * Asks for a reading of the log until it is there, also while nobody sees the page. Whoever leaves says so, so that it ends where nobody
 * else waits for it. `path` is `null` where nothing is asked.
 */
export function useReading<Value extends Standing>(path: string | null): Answered<Value> {
  const [answered, setAnswered] = useState<Answered<Value>>({ kind: 'waiting' });
  useEffect(() => {
    setAnswered({ kind: 'waiting' });
    if (path === null) return;
    const ending = new AbortController();
    let timer = 0;
    const look = async (): Promise<void> => {
      const now = await ask<Value>(path, ending.signal).catch(noAnswer);
      if (ending.signal.aborted) return;
      setAnswered(now);
      const nextMs = askedAgainMs(now);
      if (nextMs !== null) timer = setTimeout(look, nextMs);
    };
    void look();
    return () => {
      ending.abort();
      clearTimeout(timer);
      fetch(`${path}&leaving=1`, { keepalive: true }).catch(() => undefined);
    };
  }, [path]);
  return answered;
}

export const SessionContext = createContext<DashboardSession | null>(null);

/** Whether whoever looks may act, and else why not. */
export const useActions = (): DashboardSession['actions'] =>
  useContext(SessionContext)?.actions ?? { allowed: false, why: 'nobody is signed in' };

export const useRole = (): DashboardSession['role'] => useContext(SessionContext)?.role ?? 'viewer';
