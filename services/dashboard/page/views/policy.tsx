import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  DashboardPolicies,
  DashboardPolicy,
  DashboardPolicyCheck,
} from '../../../../schemas/reports/dashboard-policies.ts';
import { addressOfKey, policyAddress } from '../addresses.ts';
import { type Answered, send, useAnswer } from '../asking.ts';
import { Table } from '../document.tsx';
import { Fact, Section, Shown } from '../parts.tsx';
import { countText } from '../texts.ts';
import { Simulations } from './simulations.tsx';

const EVERY_MS = 30_000;

/** One policy: what it is, a copy to try, and what that copy would have done. */
export function PolicyView({ name, query }: { readonly name: string; readonly query: URLSearchParams }) {
  const subject = query.get('subject') === 'cluster' ? 'cluster' : 'node';
  const answered = useAnswer<DashboardPolicy>(
    `/api/policy?${new URLSearchParams({ subject, name })}`,
    EVERY_MS,
  );
  return (
    <>
      <h1>Policy {name}</h1>
      <Shown answered={answered}>{(policy) => <Policy key={policy.name} policy={policy} />}</Shown>
    </>
  );
}

function Policy({ policy }: { readonly policy: DashboardPolicy }) {
  const { subject, policyVersion, mode, nodes, source, someNodes } = policy;
  const [text, setText] = useState(source);
  const [isValid, setValid] = useState(true);
  return (
    <>
      <dl class="facts">
        <Fact name="Version">{policyVersion}</Fact>
        <Fact name="Mode">{mode}</Fact>
        {nodes === null ? null : (
          <Fact name="Nodes" more={nodes === 0 ? <span class="bad">it holds for no node</span> : undefined}>
            {countText(nodes)}
          </Fact>
        )}
      </dl>
      {someNodes.length === 0 ? null : <NodeLinks keys={someNodes} count={nodes ?? 0} />}
      <PolicyEditor name={policy.name} applied={source} text={text} onText={setText} onValid={setValid} />
      {subject === 'node' ? (
        <Simulations name={policy.name} text={text} isValid={isValid} />
      ) : (
        <p class="quiet">
          A policy for clusters is tried on the recorded past with <code>fleetgc audit simulate</code>.
        </p>
      )}
    </>
  );
}

function NodeLinks({ keys, count }: { readonly keys: readonly string[]; readonly count: number }) {
  return (
    <details>
      <summary>
        {keys.length < count ? `The first ${keys.length} of ${countText(count)} nodes` : 'Its nodes'}
      </summary>
      <ul class="columns">
        {keys.map((key) => (
          <li key={key}>
            <a href={addressOfKey(key)}>{key}</a>
          </li>
        ))}
      </ul>
    </details>
  );
}

const LIST_EVERY_MS = 15_000;

/** The policies in force. */
export function PoliciesView() {
  const answered = useAnswer<DashboardPolicies>('/api/policies', LIST_EVERY_MS);
  return (
    <>
      <h1>Policies</h1>
      <Shown answered={answered}>{({ policies }) => <PolicyTable policies={policies} />}</Shown>
      <p class="quiet">
        Which policy holds for a node, and where each of its values comes from, stands on the page of that
        node.
      </p>
    </>
  );
}

function PolicyTable({ policies }: DashboardPolicies) {
  if (policies.length === 0) return <p>There is no policy: every node keeps everything.</p>;
  return (
    <Table
      rows={policies}
      keyOf={({ subject, name }) => `${subject} ${name}`}
      columns={[
        ['Policy', 'text', ({ subject, name }) => <a href={policyAddress(subject, name)}>{name}</a>],
        ['For', 'text', ({ subject }) => (subject === 'node' ? 'nodes' : 'clusters')],
        ['Version', 'count', ({ policyVersion }) => String(policyVersion)],
        ['Mode', 'text', ({ mode }) => mode],
        ['Nodes', 'count', ({ nodes }) => (nodes === 0 ? <span class="bad">holds for no node</span> : nodes)],
      ]}
    />
  );
}

/** Who types is not asked about each letter. */
const CHECK_AFTER_MS = 400;
/** As the API takes it. */
const MOST_CHARACTERS = 32 * 1024;
/** Whoever was told to wait. */
const AGAIN_AFTER_MS = 5_000;

interface EditorProps {
  readonly name: string;
  /** The text that is in force. */
  readonly applied: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onValid: (isValid: boolean) => void;
}

/** A copy of a policy to edit. It is never applied from here: whoever may applies the file with the command. */
function PolicyEditor({ name, applied, text, onText, onValid }: EditorProps) {
  const place = useRef<HTMLTextAreaElement>(null);
  const lines = useRef<HTMLPreElement>(null);
  const check = useCheck(text, onValid);
  const toLine = (line: number): void => {
    const at = offsetOfLine(text, line);
    place.current?.focus();
    place.current?.setSelectionRange(at, at);
  };
  const file = `${fileName(name)}.yaml`;
  return (
    <Section id="copy" heading="A copy to try">
      <p>Edit it here; what is in force stays as it is.</p>
      <div class="editor">
        <pre ref={lines} aria-hidden="true">
          {lineNumbers(text)}
        </pre>
        <textarea
          ref={place}
          aria-label={`Text of the policy ${name}`}
          aria-describedby="problems-of-text"
          value={text}
          maxLength={MOST_CHARACTERS}
          rows={Math.min(30, Math.max(8, text.split('\n').length + 1))}
          spellcheck={false}
          autocomplete="off"
          wrap="off"
          onInput={(event) => onText(event.currentTarget.value)}
          onScroll={(event) => {
            if (lines.current !== null) lines.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      <div id="problems-of-text" role="status">
        <Findings check={check} onLine={toLine} />
      </div>
      <div class="controls">
        <button type="button" onClick={() => download(file, text)}>
          Download {file}
        </button>
        <button type="button" disabled={text === applied} onClick={() => onText(applied)}>
          Back to what is in force
        </button>
      </div>
      <p>
        To put it in force: <code>fleetgc policy apply {file}</code>. This page applies nothing.
      </p>
    </Section>
  );
}

/** What `fleetgc policy validate` says of the text, a moment after it was typed. */
function useCheck(text: string, onValid: (isValid: boolean) => void): Answered<DashboardPolicyCheck> {
  const [check, setCheck] = useState<Answered<DashboardPolicyCheck>>({ kind: 'waiting' });
  useEffect(() => {
    const ending = new AbortController();
    let timer = 0;
    const look = (): void => {
      send<DashboardPolicyCheck>('/api/policies/check', text, ending.signal)
        .then((answered) => {
          setCheck(answered);
          if (answered.kind === 'refused' && answered.status === 429)
            timer = setTimeout(look, AGAIN_AFTER_MS);
          onValid(answered.kind === 'answered' && answered.value.valid);
        })
        .catch(() => {
          if (!ending.signal.aborted)
            setCheck({ kind: 'refused', status: 0, problem: 'the dashboard does not answer' });
        });
    };
    timer = setTimeout(look, CHECK_AFTER_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text, onValid]);
  return check;
}

function Findings({
  check,
  onLine,
}: {
  readonly check: Answered<DashboardPolicyCheck>;
  readonly onLine: (line: number) => void;
}) {
  if (check.kind === 'waiting') return <p class="waiting">Checking …</p>;
  if (check.kind === 'refused') return <p class="bad">{check.problem}</p>;
  const { valid, problems, warnings, policies, isMore } = check.value;
  const names = policies.map(({ name }) => name).join(', ');
  return (
    <>
      <p class={valid ? undefined : 'bad'}>
        {valid ? `Valid: ${names === '' ? 'no policy' : names}.` : 'Not valid; nothing of it can be applied:'}
      </p>
      <FindingList findings={problems} onLine={onLine} />
      {warnings.length === 0 ? null : <p>Worth knowing:</p>}
      <FindingList findings={warnings} onLine={onLine} />
      {isMore ? <p>And more. Mend these first.</p> : null}
    </>
  );
}

function FindingList({
  findings,
  onLine,
}: {
  readonly findings: DashboardPolicyCheck['problems'];
  readonly onLine: (line: number) => void;
}) {
  if (findings.length === 0) return null;
  return (
    <ul>
      {findings.map(({ line, column, path, message }) => (
        <li key={`${line} ${column} ${path} ${message}`}>
          <button type="button" class="line" onClick={() => onLine(line)}>
            Line {line}
          </button>{' '}
          {path === '' ? '' : `${path}: `}
          {message}
        </li>
      ))}
    </ul>
  );
}

/** Names of policies are names of files everywhere, but for what somebody put on the log by hand. */
const fileName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9._-]/g, '_').replace(/^\.+/, '_');

const lineNumbers = (text: string): string =>
  text
    .split('\n')
    .map((_, index) => index + 1)
    .join('\n');

const offsetOfLine = (text: string, line: number): number =>
  text
    .split('\n')
    .slice(0, line - 1)
    .reduce((sum, { length }) => sum + length + 1, 0);

/** Saved by the browser itself. */
function download(file: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'application/yaml' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = file;
  link.click();
  URL.revokeObjectURL(address);
}
