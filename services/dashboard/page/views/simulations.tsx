import { useEffect, useState } from 'preact/hooks';
import type {
  DashboardSimulation,
  DashboardSimulations,
  SimulationStanding,
} from '../../../../schemas/reports/dashboard-policies.ts';
import { send, useAnswer, useNews } from '../asking.ts';
import { Shown, Time } from '../parts.tsx';
import { useRole } from '../session.ts';
import { SimulationResult } from './simulation-result.tsx';

const EVERY_MS = 30_000;
const DAYS = [1, 2, 3, 7, 14];

interface SimulationsProps {
  readonly name: string;
  readonly text: string;
  readonly isValid: boolean;
}

/** Tries the text on the recorded past, beside the policies in force. */
export function Simulations({ name, text, isValid }: SimulationsProps) {
  const isOperator = useRole() === 'operator';
  const [days, setDays] = useState(1);
  const [problem, setProblem] = useState<string | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const { simulations, again } = useSimulations();
  const start = async (): Promise<void> => {
    const asked = await send<{ readonly id: string }>(`/api/policies/simulate?days=${days}`, text);
    setProblem(asked.kind === 'refused' ? asked.problem : null);
    if (asked.kind === 'answered') setChosen(asked.value.id);
    again();
  };
  const own = simulations.filter(({ policies }) => policies.includes(name));
  const shown = chosen ?? own.find(({ state }) => state === 'done')?.id ?? null;
  return (
    <section aria-labelledby="simulations">
      <h2 id="simulations">What it would have done</h2>
      <div class="controls">
        <label>
          On the last
          <select value={String(days)} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {DAYS.map((each) => (
              <option key={each} value={String(each)}>
                {each === 1 ? '1 day' : `${each} days`}
              </option>
            ))}
          </select>
        </label>
        <button type="button" disabled={!isValid || !isOperator} onClick={start}>
          Simulate
        </button>
      </div>
      {isOperator ? null : <p>Only operators may simulate: days of the event log are read for it.</p>}
      <p class="quiet">
        Nothing is applied, and no node is asked. It is compared with the policies in force, as{' '}
        <code>fleetgc audit simulate --against</code> does.
      </p>
      {problem === null ? null : (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      <SimulationList simulations={own} chosen={shown} onChoose={setChosen} onChanged={again} />
      {shown === null ? null : (
        <Chosen key={shown} id={shown} state={own.find(({ id }) => id === shown)?.state} />
      )}
    </section>
  );
}

/** All of this process, as they go on. */
function useSimulations(): {
  readonly simulations: readonly SimulationStanding[];
  readonly again: () => void;
} {
  const [asked, setAsked] = useState(0);
  const again = (): void => setAsked((times) => times + 1);
  const answered = useAnswer<DashboardSimulations>('/api/simulations', EVERY_MS, asked);
  const [simulations, setSimulations] = useState<readonly SimulationStanding[]>([]);
  useEffect(() => {
    if (answered.kind === 'answered') setSimulations(answered.value.simulations);
  }, [answered]);
  useNews('simulations', (news) => setSimulations(news.simulations), again);
  return { simulations, again };
}

const STATES: Readonly<Record<SimulationStanding['state'], string>> = {
  waiting: 'waits for others',
  running: 'under way',
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
};

function SimulationList({
  simulations,
  chosen,
  onChoose,
  onChanged,
}: {
  readonly simulations: readonly SimulationStanding[];
  readonly chosen: string | null;
  readonly onChoose: (id: string) => void;
  readonly onChanged: () => void;
}) {
  if (simulations.length === 0) return null;
  const cancel = async (id: string): Promise<void> => {
    await send(`/api/policies/cancel?${new URLSearchParams({ id })}`, '');
    onChanged();
  };
  return (
    <ul class="simulations" aria-label="Simulations">
      {simulations.map((simulation) => {
        const { id, state, days, by, askedAtMs } = simulation;
        const isOpen = state === 'waiting' || state === 'running';
        return (
          <li key={id}>
            <Time ms={askedAtMs} /> by {by}, {days === 1 ? '1 day' : `${days} days`}: {STATES[state]}
            <Progress simulation={simulation} />
            {isOpen ? (
              <button type="button" onClick={() => cancel(id)}>
                Cancel
              </button>
            ) : null}
            {state === 'done' ? (
              <button type="button" aria-pressed={id === chosen} onClick={() => onChoose(id)}>
                Show
              </button>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
}

function Progress({ simulation: { state, progress, problem } }: { readonly simulation: SimulationStanding }) {
  if (problem !== null) return <span class="bad"> {problem}</span>;
  if (state !== 'running' || progress === null) return null;
  const { done, of, records } = progress;
  return (
    <>
      {' '}
      <progress max={of} value={done} aria-label="How far it is" /> {records.toLocaleString('en')} records
    </>
  );
}

function Chosen({
  id,
  state,
}: {
  readonly id: string;
  readonly state: SimulationStanding['state'] | undefined;
}) {
  if (state !== 'done') return null;
  return <Answered id={id} />;
}

function Answered({ id }: { readonly id: string }) {
  const answered = useAnswer<DashboardSimulation>(`/api/simulation?${new URLSearchParams({ id })}`, null);
  return (
    <Shown answered={answered}>
      {({ outcome }) => (outcome === null ? null : <SimulationResult outcome={outcome} />)}
    </Shown>
  );
}
