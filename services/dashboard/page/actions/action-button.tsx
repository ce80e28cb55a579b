import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type {
  DashboardAction,
  DashboardActionDone,
  DashboardActionName,
} from '../../../../schemas/reports/dashboard-actions.ts';
import { type Answered, askedOf, useActions } from '../asking.ts';

/** Asks whether to do something, and why, and has it done. Whoever may not sees why. */
export function ActionButton<Name extends DashboardActionName>(props: ActionButtonProps<Name>) {
  const { label, title } = props;
  const actions = useActions();
  const [isOpen, setOpen] = useState(false);
  const why = useId();
  return (
    <>
      <button
        type="button"
        aria-label={`${label}: ${title}`}
        aria-disabled={!actions.allowed}
        aria-describedby={actions.allowed ? undefined : why}
        onClick={() => setOpen(actions.allowed)}
      >
        {label}
      </button>
      {actions.allowed ? null : (
        <span id={why} class="unseen">
          {actions.why}
        </span>
      )}
      {isOpen ? <ActionDialog {...props} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

/** Why the buttons of a view do nothing, once for all of them. */
export function ActionsNote() {
  const actions = useActions();
  return actions.allowed ? null : <p class="quiet">You cannot use these buttons: {actions.why}.</p>;
}

/** As the API wants it. */
const NEEDS_REASON: Readonly<Record<DashboardActionName, boolean>> = {
  pause: true,
  resume: false,
  approve: true,
  withdraw: false,
  redrive: false,
};
const MOST_REASON_LENGTH = 1_000;

interface ActionDialogProps<Name extends DashboardActionName> extends ActionButtonProps<Name> {
  readonly onClose: () => void;
}

/** Closed by the Escape key too, as the browser does it; it keeps the focus, and gives it back. */
function ActionDialog<Name extends DashboardActionName>(props: ActionDialogProps<Name>) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [done, setDone] = useState<DashboardActionDone | null>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  const onClose = (): void => {
    props.onClose();
    if (done !== null) props.onDone?.();
  };
  return (
    <dialog ref={dialog} aria-labelledby={heading} onClose={onClose}>
      <h2 id={heading}>{props.title}</h2>
      {done === null ? (
        <Question {...props} onDone={setDone} onCancel={() => dialog.current?.close()} />
      ) : (
        <Outcome done={done} onClose={() => dialog.current?.close()} />
      )}
    </dialog>
  );
}

interface QuestionProps<Name extends DashboardActionName> extends Omit<ActionButtonProps<Name>, 'onDone'> {
  readonly onDone: (done: DashboardActionDone) => void;
  readonly onCancel: () => void;
}

function Question<Name extends DashboardActionName>({
  action,
  about,
  label,
  children,
  onDone,
  onCancel,
}: QuestionProps<Name>) {
  const id = useRef(newId());
  const [reason, setReason] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (about === null || isAsking) return;
    setAsking(true);
    setProblem(null);
    const answered = await askFor(action, about, { id: id.current, reason: reason.trim() });
    setAsking(false);
    if (answered.kind === 'answered') onDone(answered.value);
    else if (answered.kind === 'refused') setProblem(answered.problem);
  };
  const isNeeded = NEEDS_REASON[action];
  return (
    <form onSubmit={submit}>
      {children}
      <label>
        {isNeeded ? 'Reason, for the audit trail' : 'Reason, for the audit trail (optional)'}
        <textarea
          value={reason}
          required={isNeeded}
          maxLength={MOST_REASON_LENGTH}
          rows={2}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      {problem === null ? null : (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      <div class="buttons">
        <button type="submit" aria-disabled={about === null || isAsking}>
          {isAsking ? 'Waiting …' : label}
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function Outcome({ done, onClose }: { readonly done: DashboardActionDone; readonly onClose: () => void }) {
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => close.current?.focus(), []);
  return (
    <>
      <div role="status">
        <p>{done.text}</p>
        {done.notes.map((note) => (
          <p key={note} class="quiet">
            {note}
          </p>
        ))}
      </div>
      <div class="buttons">
        <button type="button" ref={close} onClick={onClose}>
          Close
        </button>
      </div>
    </>
  );
}

/** A button that does something, and its dialog. */
interface ActionButtonProps<Name extends DashboardActionName> {
  readonly action: Name;
  /** What it does, in a word or two: on the button, and on that of its dialog. */
  readonly label: string;
  /** The same with what it is about: the heading of the dialog, and what the button is called to whoever cannot see its row. */
  readonly title: string;
  /** `null`: what was filled in is not enough yet. */
  readonly about: About<Name> | null;
  /** What follows from it, and further fields. */
  readonly children?: ComponentChildren;
  /** Called when the dialog is closed after it was done. */
  readonly onDone?: () => void;
}

/** What an action is about, without what its dialog asks for. */
export type About<Name extends DashboardActionName> = Omit<DashboardAction<Name>, 'id' | 'reason'>;

/** A UUID; what makes one in the browser is there over HTTPS alone. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Asks for it to be done. Under one id it is done once, however often it is asked for. */
const askFor = <Name extends DashboardActionName>(
  name: Name,
  about: About<Name>,
  said: { readonly id: string; readonly reason: string },
): Promise<Answered<DashboardActionDone>> =>
  askedOf<DashboardActionDone>(`/api/actions/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...about, ...said }),
  }).catch(() => ({ kind: 'refused', status: 0, problem: NO_ANSWER }));

const NO_ANSWER =
  'the dashboard does not answer, so nobody knows whether it was done: look at History before you do it again';
