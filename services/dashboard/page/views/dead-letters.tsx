import { useState } from 'preact/hooks';
import type {
  DashboardLetter,
  DashboardLetterShown,
  DashboardLetters,
} from '../../../../schemas/reports/dashboard-letters.ts';
import { ActionButton, ActionsNote } from '../actions/action-button.tsx';
import { go } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Table } from '../document.tsx';
import { Fact, Section, Shown, Time } from '../parts.tsx';
import { countText } from '../texts.ts';

const EVERY_MS = 15_000;
/** As many as one action puts back. */
const MOST_AT_ONCE = 100;

/** Messages that nobody could process. What is looked at, and the filter, stand in the address. */
export function DeadLettersView({ query }: { readonly query: URLSearchParams }) {
  const id = query.get('id');
  return id === null ? <Letters query={query} /> : <OneLetter id={id} />;
}

const addressOf = (id: string): string => `/dead-letters?${new URLSearchParams({ id })}`;

function addressFor(query: URLSearchParams, changed: Readonly<Record<string, string>>): string {
  const next = new URLSearchParams(query);
  next.delete('before');
  for (const [name, value] of Object.entries(changed))
    if (value === '') next.delete(name);
    else next.set(name, value);
  return next.size === 0 ? '/dead-letters' : `/dead-letters?${next}`;
}

function Letters({ query }: { readonly query: URLSearchParams }) {
  const [again, setAgain] = useState(0);
  const answered = useAnswer<DashboardLetters>(`/api/dead-letters?${query}`, EVERY_MS, again);
  const isAll = query.get('all') === 'true';
  return (
    <>
      <h1>Dead letters</h1>
      <p class="quiet">
        A consumer that cannot process a message keeps it as a dead letter and goes on. In a minute it keeps
        at most 10 of each key, and only counts the others.
      </p>
      <div class="controls">
        <label class="check">
          <input
            type="checkbox"
            checked={isAll}
            onChange={(event) => go(addressFor(query, { all: event.currentTarget.checked ? 'true' : '' }))}
          />
          Also those whose message was put back
        </label>
      </div>
      <Shown answered={answered}>
        {(value) => (
          <>
            <Causes byCause={value.byCause} total={value.total} query={query} />
            {value.letters.length === 0 ? (
              <p>There are no such dead letters.</p>
            ) : (
              <LetterTable letters={value.letters} onDone={() => setAgain((times) => times + 1)} />
            )}
            {value.before === null ? null : (
              <p>
                <a href={addressFor(query, { before: value.before })}>Earlier</a>
              </p>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

function Causes({
  byCause,
  total,
  query,
}: Pick<DashboardLetters, 'byCause' | 'total'> & { readonly query: URLSearchParams }) {
  const cause = query.get('cause');
  return (
    <>
      <p role="status">
        {countText(total)} dead letters{cause === null ? '' : ` with the cause ${cause}`}
      </p>
      <ul class="legend" aria-label="By cause">
        {cause === null ? null : (
          <li>
            <a href={addressFor(query, { cause: '' })}>every cause</a>
          </li>
        )}
        {Object.entries(byCause).map(([name, count]) => (
          <li key={name}>
            <a href={addressFor(query, { cause: name })}>
              {name} ({countText(count)})
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

interface LetterTableProps {
  readonly letters: readonly DashboardLetter[];
  readonly onDone: () => void;
}

function LetterTable({ letters, onDone }: LetterTableProps) {
  const ids = letters.filter(({ redrivenAtMs }) => redrivenAtMs === null).map(({ id }) => id);
  const together = ids.slice(0, MOST_AT_ONCE);
  return (
    <>
      <Table
        rows={letters}
        keyOf={({ id }) => id}
        columns={[
          [
            'When',
            'time',
            ({ id, diedAtMs }) => (
              <a href={addressOf(id)}>
                <Time ms={diedAtMs} />
              </a>
            ),
          ],
          ['Message of', 'text', ({ topic, key }) => `${topic} ${key ?? '(no key)'}`],
          ['Given up by', 'text', ({ group }) => group],
          ['Cause', 'text', ({ cause }) => cause],
          ['What it said', 'text', ({ message }) => message],
          ['Put back', 'time', ({ redrivenAtMs }) => redrivenAtMs ?? 'no'],
        ]}
      />
      {together.length === 0 ? null : (
        <div class="buttons">
          <PutBack ids={together} title={`Put back these ${together.length}`} again={false} onDone={onDone} />
        </div>
      )}
      <ActionsNote />
    </>
  );
}

interface PutBackProps {
  readonly ids: readonly string[];
  readonly title: string;
  /** Also what was put back before. */
  readonly again: boolean;
  readonly onDone: () => void;
}

function PutBack({ ids, title, again, onDone }: PutBackProps) {
  return (
    <ActionButton
      action="redrive"
      label="Put back"
      title={title}
      about={{ letters: [...ids], again }}
      onDone={onDone}
    >
      <p>
        Each message goes back unchanged, if what lies on the event log is what the dead letter holds, byte
        for byte. Only facts go back, never orders or policies. First mend why it was given up.
      </p>
    </ActionButton>
  );
}

function OneLetter({ id }: { readonly id: string }) {
  const [again, setAgain] = useState(0);
  const path = `/api/dead-letter?${new URLSearchParams({ id })}`;
  const answered = useAnswer<DashboardLetterShown>(path, null, again);
  return (
    <>
      <h1>Dead letter</h1>
      <p>
        <a href="/dead-letters">All dead letters</a>
      </p>
      <Shown answered={answered}>
        {(shown) => <ShownLetter shown={shown} onDone={() => setAgain((times) => times + 1)} />}
      </Shown>
    </>
  );
}

interface ShownLetterProps {
  readonly shown: DashboardLetterShown;
  readonly onDone: () => void;
}

function ShownLetter({ shown, onDone }: ShownLetterProps) {
  const { letter, position, staysBecause } = shown;
  const isBack = letter.redrivenAtMs !== null;
  return (
    <>
      <dl class="facts">
        <Fact name="Cause">{letter.cause}</Fact>
        <Fact name="Given up" more={`by ${letter.group}`}>
          <Time ms={letter.diedAtMs} />
        </Fact>
        <Fact name="Message" more={`partition ${position.partition}, offset ${position.offset}`}>
          {position.topic}
        </Fact>
        <Fact name="Key">{letter.key ?? '(none)'}</Fact>
        <Fact name="Put back">{letter.redrivenAtMs === null ? 'no' : <Time ms={letter.redrivenAtMs} />}</Fact>
      </dl>
      <p>{letter.message}</p>
      {letter.suppressedBefore === 0 ? null : (
        <p>
          {countText(letter.suppressedBefore)} more of this key before it have no dead letter of their own.
        </p>
      )}
      {staysBecause === null ? (
        <div class="buttons">
          <PutBack
            ids={[letter.id]}
            title={`Put back ${letter.id}${isBack ? ' once more' : ''}`}
            again={isBack}
            onDone={onDone}
          />
        </div>
      ) : (
        <p>It is not put back: {staysBecause}.</p>
      )}
      <ActionsNote />
      <Content shown={shown} />
    </>
  );
}

const CONTENT_TEXT: Readonly<Record<DashboardLetterShown['content']['kind'], string>> = {
  omitted: 'It was too large to be kept here; it lies at its position. Bytes:',
  none: 'It had no content.',
  empty: 'Its content was empty.',
  bytes: 'It is not text; in base64:',
  text: '',
};

/** What others wrote, as text: what is not printable was made visible. */
function Content({ shown: { content, headers, letter } }: Pick<ShownLetterProps, 'shown'>) {
  return (
    <Section id="content-of-letter" heading="What it holds">
      {CONTENT_TEXT[content.kind] === '' ? null : <p>{CONTENT_TEXT[content.kind]}</p>}
      {content.text === '' ? null : (
        // Keyboards can scroll what has the focus.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        <pre tabIndex={0}>{content.text}</pre>
      )}
      {content.isWhole || content.kind === 'omitted' ? null : (
        <p>
          There is more: <code>fleetgc dead-letters show {letter.id}</code> has all of it.
        </p>
      )}
      {headers.length === 0 ? null : (
        <Table
          caption="Its headers"
          rows={headers}
          keyOf={([name]) => name}
          columns={[
            ['Header', 'name', ([name]) => name],
            ['Value', 'text', ([, value]) => value],
          ]}
        />
      )}
    </Section>
  );
}
