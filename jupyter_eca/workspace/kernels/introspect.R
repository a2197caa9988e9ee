# Describes the variables of an R kernel, and inspects names. It prints JSON. It needs only base R, and jsonlite, which
# IRkernel needs too. languages.py sends the whole file with a call of one of its functions. It defines nothing in the
# user's workspace. The limits are those of introspect.py and profile.py, with one exception. If there are more than
# `max_shown` variables, only the first are described with more than their type, as many as R can describe in `glance_s`
# seconds. R needs some milliseconds to describe a list.
local({
  preview_chars <- 200; sample_chars <- 2000; sample_rows <- 5; max_columns <- 50; max_items <- 8
  max_sampled <- 20; max_shown <- 100; max_variables <- 1000; limit_s <- 0.2; total_s <- 1; glance_s <- 0.005
  max_help <- 20000
  max_rows <- 20000; max_values <- 400000; min_rows <- 1000; max_chars <- 2400; line_chars <- c(48, 160)
  few_values <- 6; shown_values <- 4; frequent <- 0.01; frequent_factor <- 3; deadline_s <- 0.2; profile_s <- 0.3
  first_rows <- 3; row_chars <- 120; value_chars <- 24

  # The text, shortened to at most `most` characters.
  cut_to <- function(text, most) if (nchar(text) > most) paste0(substr(text, 1, most - 1), "\u2026") else text
  # What an expression prints, as one text.
  capture_print <- function(what) paste(utils::capture.output(what), collapse = "\n")

  # Methods that the user defined are not run, because R's time limit does not end code that waits outside of R, such as
  # Sys.sleep. `has_users_method` returns whether a value, or a value inside of it down to `level` levels, has such a
  # method. Of such a value only the basic type and the length are shown (`describe_basic_type`).
  methods <- c(
    "str", "print", "format", "length", "dim", "names", "as.character", "as.data.frame", "head", "[", "[[", "$")
  has_users_method <- function(value, level = 2) {
    named <- if (is.object(value)) outer(methods, class(value), paste, sep = ".") else character()
    (isS4(value) && identical(attr(class(value), "package"), ".GlobalEnv")) ||
      any(vapply(named, exists, NA, envir = globalenv(), inherits = FALSE)) ||
      (level > 0 && is.list(value) &&
        any(vapply(utils::head(unclass(value), max_columns), has_users_method, NA, level = level - 1)))
  }
  describe_basic_type <- function(value)
    if (isS4(value)) "S4" else paste0(typeof(value), " of length ", length(unclass(value)))

  # Run `work` for a limited time, and return its result. If it fails or takes too long, return that of `failed`.
  run_limited <- function(work, failed, seconds = limit_s) {
    on.exit(setTimeLimit(elapsed = Inf))
    tryCatch({
      setTimeLimit(elapsed = seconds, transient = TRUE)
      suppressWarnings(suppressMessages(work()))
    }, error = failed)
  }

  # The arguments of a function as text. R prints them with `NULL` behind them.
  format_signature <- function(value) sub("\\s*NULL\\s*$", "", capture_print(args(value)))

  # A preview of a value, with at most `most` characters.
  make_preview <- function(value, most) {
    if (is.null(value)) return("NULL")
    if (is.atomic(value) && !is.object(value) && is.null(attributes(value))) {
      first <- encodeString(as.character(utils::head(value, max_items)), quote = if (is.character(value)) "\"" else "")
      return(cut_to(paste0(paste(first, collapse = " "), if (length(value) > max_items) " ..."), most))
    }
    cut_to(trimws(capture_print(
      utils::str(value, max.level = 1, list.len = max_items, nchar.max = most, give.attr = FALSE))), most)
  }

  # A share in words: `12%`, `<1%`, `>99%`.
  format_percent <- function(part, whole) {
    share <- 100 * part / whole
    if (share < 1) "<1%" else if (share > 99 && share < 100) ">99%" else paste0(round(share), "%")
  }

  # A value as a short text.
  as_short_text <- function(value) {
    if (is.character(value) || is.factor(value)) encodeString(cut_to(as.character(value), 40), quote = "'")
    else if (is.numeric(value) && !is.object(value)) format(value, digits = if (abs(value) < 1e4) 4 else 7)
    else cut_to(format(value), 40)
  }

  # Descriptions of values that are not NA, such as a range and a mean. `count` is their number together with the NAs.
  describe_values <- function(values, count) {
    different <- unique(values)
    times <- tabulate(match(values, different), length(different))
    if (length(different) == 1) return(paste("constant", as_short_text(different)))
    if (length(different) > few_values && (is.numeric(values) || inherits(values, c("Date", "POSIXct", "difftime")))) {
      value <- different[[which.max(times)]]
      often <- max(times) >= length(values) * max(frequent, frequent_factor / length(different))
      stands_out <- often && value %in% range(values)
      often <- if (often) paste(as_short_text(value), format_percent(max(times), length(values)))
      if (stands_out) values <- values[values != value]
      ends <- paste0(if (stands_out) "others ", as_short_text(min(values)), "..", as_short_text(max(values)))
      mean <- if (is.numeric(values) && !is.object(values)) paste("mean", as_short_text(mean(values)))
      return(c(if (stands_out) c(often, ends) else c(ends, often), mean))
    }
    if (length(different) == length(values) && length(different) > few_values)
      return(c("all different", paste("e.g.", as_short_text(values[[1]]))))
    most <- utils::head(order(-times), if (length(different) <= few_values) few_values else shown_values)
    shown <- vapply(most, function(i) paste(as_short_text(different[[i]]), format_percent(times[[i]], count)), "")
    paste0(length(different), " values: ", paste(shown, collapse = ", "))
  }

  # A line for each column, and then the first rows. Columns that are lists or tables have their type only, and so have
  # those that are left after `deadline_s`.
  make_profile <- function(value) {
    rows <- nrow(value)
    shown <- utils::head(seq_along(value), max_columns)
    step <- max(1, ceiling(rows / max(min_rows, min(max_rows, max_values %/% max(length(shown), 1)))))
    looked_at <- if (rows) seq(1, rows, by = step) else integer()
    limit <- max(line_chars[[1]], min(line_chars[[2]], max_chars %/% max(length(shown), 1)))
    until <- proc.time()[["elapsed"]] + deadline_s
    firsts <- list()
    lines <- vapply(shown, function(i) {
      column <- value[[i]]
      head <- paste(names(value)[[i]], class(column)[[1]])
      if (!is.atomic(column) || !is.null(dim(column)) || proc.time()[["elapsed"]] > until) return(cut_to(head, limit))
      first <- utils::head(seq_len(rows), first_rows)
      firsts <<- c(firsts, list(vapply(first, function(row) cut_to(as_short_text(column[[row]]), value_chars), "")))
      seen <- column[looked_at]
      values <- seen[!is.na(seen)]
      nulls <- length(seen) - length(values)
      share <- if (!length(seen)) "no rows" else if (!length(values)) "all NA" else if (nulls)
        paste(format_percent(nulls, length(seen)), "NA")
      cut_to(paste(c(head, share, if (length(values)) describe_values(values, length(seen))), collapse = ", "), limit)
    }, "")
    more <- length(value) - length(shown)
    each <- vapply(utils::head(seq_len(rows), first_rows), function(row) {
      cut_to(paste0("row ", row, ": ", paste(vapply(firsts, `[[`, "", row), collapse = ", ")), row_chars)
    }, "")
    number <- function(count) format(count, big.mark = ",")
    paste(c(
      lines, if (more > 0) paste0("[", more, " more columns]"),
      if (step > 1) paste0("[1 row of ", step, " was looked at: ", number(length(looked_at)), " of ", number(rows), "]"),
      if (length(firsts)) each), collapse = "\n")
  }

  # Add the shape and the columns of a table to its description `about`. `rows` says whether the first rows are added.
  add_table <- function(about, value, rows) {
    about$shape <- I(dim(value))
    shown <- utils::head(seq_along(value), max_columns)
    about$columns <- lapply(shown, function(i) list(name = names(value)[[i]], dtype = class(value[[i]])[[1]]))
    if (rows) {
      first <- as.data.frame(utils::head(value, sample_rows))[shown]
      about$sample <- cut_to(capture_print(print(first)), sample_chars)
    }
    about
  }

  # The types of variables that have no other description. Reading a variable may run code of the user: that of a
  # promise (`delayedAssign`). So this has a time limit. A variable that cannot be read in time has the type "unknown".
  list_types <- function(names) {
    types <- rep("unknown", length(names))
    until <- proc.time()[["elapsed"]] + total_s
    i <- 0
    while (i < length(names) && proc.time()[["elapsed"]] < until) run_limited(function() while (i < length(names)) {
      i <<- i + 1
      types[[i]] <<- if (bindingIsActive(as.name(names[[i]]), globalenv())) "active binding"
        else class(get(names[[i]], envir = globalenv()))[[1]]
    }, identity)
    types
  }

  # `detail` says how much is described besides the type. 1: shape and preview. 2: also the rows of tables. 3: also the
  # memory and more of the value.
  describe_variable <- function(name, detail) {
    if (bindingIsActive(as.name(name), globalenv())) return(list(name = name, type = "active binding"))
    about <- list(name = name)
    slow <- function(error) {
      about$preview <<- cut_to(paste0("(not all of it is told: ", conditionMessage(error), ")"), preview_chars)
      if (is.null(about$type)) about$type <<- "unknown"
      about
    }
    value <- NULL
    about <- run_limited(function() {
      value <<- get(name, envir = globalenv())
      about$type <<- class(value)[[1]]
      if (detail == 3) about$memory <<- as.numeric(utils::object.size(value))
      if (has_users_method(value)) {
        about$preview <<- paste0("(not shown, its class is the user's own: ", describe_basic_type(value), ")")
        return(about)
      }
      if (is.data.frame(value)) {
        about <<- add_table(about, value, detail >= 2)
        return(about)
      }
      if (!is.null(dim(value))) about$shape <<- I(dim(value))
      else if (is.vector(value) || is.factor(value)) about$length <<- length(value)
      if (is.atomic(value)) about$dtype <<- typeof(value)
      most <- if (detail == 3) sample_chars else preview_chars
      text <- if (is.function(value)) cut_to(format_signature(value), most) else make_preview(value, most)
      if (nchar(text) > preview_chars) about$sample <<- text else about$preview <<- text
      about
    }, slow)
    # The profile has the first rows too. Without a profile, the sample stays.
    if (detail == 3 && length(about$columns) && !is.null(about$sample)) {
      profile <- run_limited(function() make_profile(value), function(error) NULL, profile_s)
      if (!is.null(profile)) { about$profile <- profile; about$sample <- NULL }
    }
    about
  }

  # The descriptions of the variables with these names; without names, of all variables.
  variables <- function(names) {
    # R would compile our functions at each call, which takes longer than running them.
    before <- compiler::enableJIT(0)
    on.exit(compiler::enableJIT(before))
    wanted <- if (length(names)) names else ls(globalenv())
    existing <- if (length(names)) wanted[vapply(wanted, exists, NA, envir = globalenv(), inherits = FALSE)] else wanted
    listed <- utils::head(existing, max_variables)
    until <- proc.time()[["elapsed"]] + if (length(listed) > max_shown) glance_s else total_s
    found <- list()
    for (name in utils::head(listed, max_shown)) {
      if (proc.time()[["elapsed"]] > until) break
      detail <- if (length(names)) 3 else if (length(found) < max_sampled) 2 else 1
      found <- c(found, list(describe_variable(name, detail)))
    }
    rest <- utils::tail(listed, length(listed) - length(found))
    # The types are returned as two columns. A thousand lists would take a tenth of a second to write.
    list(
      variables = found, types = list(name = I(rest), type = I(list_types(rest))),
      missing = I(as.character(setdiff(names, existing))), left_out = length(existing) - length(listed))
  }

  # The help page of a name as text; empty when there is none.
  find_help <- function(name, package) tryCatch({
    found <- if (length(package)) utils::help((name), (package)) else utils::help((name))
    if (!length(found)) "" else
      capture_print(tools::Rd2txt(utils:::.getHelpFile(found[[1]]), options = list(underline_titles = FALSE)))
  }, error = function(error) "")

  # What R knows about a name such as `mean` or `dplyr::filter`.
  inspect_name <- function(name) {
    parts <- regmatches(name, regexec("^(?:([A-Za-z0-9.]+):::?)?([^:]+)$", name, perl = TRUE))[[1]]
    package <- if (length(parts) && nzchar(parts[[2]])) parts[[2]]
    bare_name <- if (length(parts)) parts[[3]] else name
    value <- tryCatch(
      if (length(package)) getExportedValue(package, bare_name) else get(bare_name, envir = globalenv()),
      error = function(error) NULL)
    help <- find_help(bare_name, package)
    signature <- if (is.function(value)) sub("^function", bare_name, format_signature(value)) else ""
    own <- is.function(value) && !nzchar(help) && !is.primitive(value)
    about <- if (is.null(value) || is.function(value)) "" else if (has_users_method(value)) class(value)[[1]] else
      run_limited(function() make_preview(value, sample_chars), function(error) class(value)[[1]])
    source <- if (own) paste0("Source:\n", capture_print(print(value, useSource = TRUE))) else ""
    text <- paste(Filter(nzchar, c(signature, about, cut_to(help, max_help), source)), collapse = "\n\n")
    list(found = nzchar(text), text = text)
  }

  # Prints a result as JSON.
  print_json <- function(value) cat(jsonlite::toJSON(value, auto_unbox = TRUE, digits = NA))
  # What languages.py calls.
  list(
    variables = function(names) print_json(variables(names)), inspect = function(name) print_json(inspect_name(name)))
})
