#include <Python.h>
#include <stdbool.h>

#include "dict_version.h"
#include "settings.h"

typedef int get_variable(PyObject *variable, PyObject *otherwise, PyObject **value);

static uint64_t mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 29;
}

/* A new reference, or NULL: no value in this context. */
static PyObject *value_of(const csched_settings_t *settings, void *variable)
{
    PyObject *value = NULL;
    get_variable *get;
    *(void **)&get = settings->get;
    if (get(variable, NULL, &value) < 0)
        PyErr_Clear();
    return value;
}

/* Digests the fields of this thread's decimal context, whose object may be replaced. 0: this thread has none yet. */
static uint64_t digest_decimal(const csched_settings_t *settings)
{
    PyObject *context = value_of(settings, settings->decimal);
    if (!context)
        return 0;
    const uint32_t *at = (const uint32_t *)context;
    uint64_t digest = 1;
    for (uint32_t i = 0; i + 1 < settings->word_count; i += 2)
        digest = mix(digest, at[settings->words[i]] | (uint64_t)at[settings->words[i + 1]] << 32);
    if (settings->word_count % 2)
        digest = mix(digest, at[settings->words[settings->word_count - 1]]);
    Py_DECREF(context);
    return digest | 1;
}

static uint64_t digest_options(PyObject *options, uint64_t digest)
{
    PyObject *key, *value;
    Py_ssize_t place = 0;
    while (PyDict_Next(options, &place, &key, &value))
        digest = PyDict_Check(value) ? digest_options(value, digest) : mix(digest, (uint64_t)(uintptr_t)value);
    return digest;
}

/* Notes the dicts and their versions; false: too many, or versions unknown. */
static bool list_dicts(csched_settings_t *settings, PyObject *options)
{
    enum { ROOM = sizeof settings->dicts / sizeof *settings->dicts };
    uint64_t version = dict_version(options);
    if (!version || settings->dict_count == ROOM)
        return false;
    settings->dicts[settings->dict_count] = options;
    settings->versions[settings->dict_count++] = version;
    PyObject *key, *value;
    Py_ssize_t place = 0;
    while (PyDict_Next(options, &place, &key, &value))
        if (PyDict_Check(value) && !list_dicts(settings, value))
            return false;
    return true;
}

static void note_dicts(csched_settings_t *settings)
{
    settings->dict_count = 0;
    if (settings->options && !list_dicts(settings, settings->options))
        settings->dict_count = 0;
}

/* Whether all dicts are as noted. An unchanged dict still refers to the dicts listed after it, so each of them is
 * alive. */
static bool dicts_as_noted(const csched_settings_t *settings)
{
    for (uint32_t i = 0; i < settings->dict_count; i++)
        if (dict_version(settings->dicts[i]) != settings->versions[i])
            return false;
    return settings->dict_count > 0;
}

static bool options_changed(csched_settings_t *settings)
{
    if (!settings->options || dicts_as_noted(settings))
        return false;
    if (digest_options(settings->options, 0) != settings->options_seen)
        return true;
    note_dicts(settings);
    return false;
}

static int64_t digits_now(const csched_settings_t *settings)
{
    PyObject *digits = PyObject_CallNoArgs(settings->digits);
    int64_t found = digits ? PyLong_AsLongLong(digits) : -1;
    Py_XDECREF(digits);
    PyErr_Clear();
    return found;
}

static bool variables_changed(const csched_settings_t *settings)
{
    for (int i = 0; i < 2; i++) {
        if (!settings->variables[i])
            continue;
        PyObject *value = value_of(settings, settings->variables[i]);
        bool same = value == settings->values[i];
        Py_XDECREF(value);
        if (!same)
            return true;
    }
    return false;
}

/* Drops the error of a library's function. An interrupt is none: it comes again as soon as Python code goes on. */
static void drop_error(void)
{
    bool interrupt = PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    PyErr_Clear();
    if (interrupt)
        PyErr_SetInterrupt();
}

/* A new list of the results, without those of functions that raise. */
static PyObject *results_of(PyObject *probes)
{
    PyObject *results = PyList_New(0);
    Py_INCREF(probes); /* another thread may note others while the functions run */
    for (Py_ssize_t i = 0; results && i < PyList_Size(probes); i++) {
        PyObject *result = PyObject_CallNoArgs(PyList_GetItem(probes, i));
        if (!result)
            drop_error();
        else if (PyList_Append(results, result) < 0)
            Py_CLEAR(results);
        Py_XDECREF(result);
    }
    Py_DECREF(probes);
    PyErr_Clear();
    return results;
}

static bool probes_changed(const csched_settings_t *settings)
{
    if (!settings->probes || !PyList_Size(settings->probes))
        return false;
    PyObject *results = results_of(settings->probes), *probed = settings->probed;
    Py_XINCREF(probed);
    int differ = results && probed ? PyObject_RichCompareBool(results, probed, Py_NE) : 1;
    Py_XDECREF(results);
    Py_XDECREF(probed);
    drop_error();
    return differ != 0;
}

int csched_settings_changed(csched_settings_t *settings, int in_a_row)
{
    if (Py_GetRecursionLimit() != settings->recursion_seen || variables_changed(settings) ||
        (settings->decimal && digest_decimal(settings) != settings->decimal_seen) ||
        digits_now(settings) != settings->digits_seen)
        return 1;
    return !in_a_row && (PyDict_Size(settings->modules) != settings->module_count || options_changed(settings) ||
                         probes_changed(settings));
}

void csched_settings_note(csched_settings_t *settings)
{
    settings->recursion_seen = Py_GetRecursionLimit();
    settings->digits_seen = digits_now(settings);
    settings->module_count = PyDict_Size(settings->modules);
    settings->decimal_seen = settings->decimal ? digest_decimal(settings) : 0;
    settings->options_seen = settings->options ? digest_options(settings->options, 0) : 0;
    note_dicts(settings);
    PyObject *probed = settings->probes ? results_of(settings->probes) : NULL, *before = settings->probed;
    settings->probed = probed;
    Py_XDECREF(before);
    for (int i = 0; i < 2; i++) {
        before = settings->values[i];
        settings->values[i] = settings->variables[i] ? value_of(settings, settings->variables[i]) : NULL;
        Py_XDECREF(before);
    }
}

void csched_settings_forget(csched_settings_t *settings)
{
    for (int i = 0; i < 2; i++) {
        Py_XDECREF((PyObject *)settings->values[i]);
        settings->values[i] = NULL;
    }
    Py_XDECREF((PyObject *)settings->probed);
    settings->probed = NULL;
}
